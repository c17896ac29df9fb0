//! Connectors on a gateway as an operator runs it: what they bring tags the session before anyone sees it, on every wire.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test stops at the first surprise, and says when it was skipped"
)]

mod run;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use run::gateway::{Gateway, create_token};
use run::{Place, tidegate};
use serde_json::{Value, json};

const CONFIG: &str = r#"
data_dir = "state"
[tools.web_search]
external = true
[catalog.sql.crm]
path = "crm.db"
tables = { rooms = "public", guests = "internal", contracts = "confidential" }
columns = { "guests.email" = "pii" }
[catalog.sql.outside]
path = "crm.db"
default = "public"
ceiling = "public"
[catalog.files.docs]
root = "docs"
paths = { "open/**" = "public", "hr/**" = "pii" }
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("tidegate.toml", CONFIG);
    let database = rusqlite::Connection::open(place.path("crm.db")).unwrap();
    let tables = "CREATE TABLE rooms (id int, name text); INSERT INTO rooms VALUES (1, 'Sea'), (2, 'Hill');
        CREATE TABLE guests (id int, name text, email text); INSERT INTO guests VALUES (1, 'Ada', 'canary-ada@example.org');
        CREATE TABLE contracts (body text); INSERT INTO contracts VALUES ('We owe them a boat.');";
    database.execute_batch(tables).unwrap();
    for (path, text) in [
        ("open/hours.txt", "open at nine"),
        ("hr/pay.txt", "canary pay"),
        ("plan.txt", "a plan"),
    ] {
        let path = place.path(&format!("docs/{path}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    place
}

/// An agent with a session.
struct Agent<'a> {
    gateway: &'a Gateway,
    token: String,
    session: String,
}

impl<'a> Agent<'a> {
    fn new(place: &Place, gateway: &'a Gateway) -> Self {
        let token = create_token(place, "agent", "alice");
        let (status, opened) = gateway.send(&token, "/v1/sessions", Some(json!({})));
        assert_eq!(status, 201, "{opened}");
        let session = opened["session_id"].as_str().unwrap().to_owned();
        Self {
            gateway,
            token,
            session,
        }
    }

    fn post(&self, what: &str, body: Value) -> (u16, Value) {
        let path = format!("/v1/session/{}/{what}", self.session);
        self.gateway.send(&self.token, &path, Some(body))
    }

    fn call(&self, tool: &str, arguments: Value) -> (u16, Value) {
        self.post("connect", json!({"tool": tool, "arguments": arguments}))
    }

    fn state(&self) -> Value {
        let path = format!("/v1/session/{}", self.session);
        self.gateway.send(&self.token, &path, None).1
    }

    fn may_search(&self) -> bool {
        let (_, decision) = self.post("authorize", json!({"tool": "web_search", "arguments": {}}));
        decision["allowed"].as_bool().unwrap()
    }
}

#[test]
fn what_a_query_touches_is_what_the_session_takes() {
    let place = place();
    let gateway = Gateway::start(&place, &[]);
    let agent = Agent::new(&place, &gateway);
    let query = |text: &str| agent.call("crm.query", json!({"query": text}));

    let (status, rooms) = query("SELECT name FROM rooms ORDER BY id");
    assert_eq!((status, &rooms["allowed"]), (200, &json!(true)), "{rooms}");
    assert_eq!(rooms["response"]["content"]["rows"], json!([["Sea"], ["Hill"]]));
    assert_eq!(rooms["response"]["class"], "public");
    let state = agent.state();
    assert_eq!(
        (&state["sensitivity"], &state["has_private_data"]),
        (&json!("public"), &json!(false))
    );
    assert_eq!(
        state["datasets"],
        json!([{"name": "sql:crm", "sensitivity": "public"}])
    );
    assert!(agent.may_search());

    for refused in [
        "DELETE FROM rooms",
        "SELECT 1; SELECT 2",
        "SELECT load_extension('x')",
        "SELECT * FROM sqlite_master",
    ] {
        let (status, problem) = query(refused);
        assert_eq!(status, 422, "{refused}: {problem}");
        assert_eq!(
            problem["type"], "urn:tidegate:problem:connector-refused",
            "{refused}"
        );
    }
    assert_eq!(agent.state()["sensitivity"], "public");

    // The column that may not be seen comes as a stub, and only what is in the clear counts.
    let (_, guests) = query("SELECT name, email FROM guests");
    let row = &guests["response"]["content"]["rows"][0];
    assert_eq!(row[0], "Ada");
    assert!(row[1].as_str().unwrap().starts_with('{'), "{row}");
    assert_eq!(guests["response"]["sensitivity"], "internal");
    assert!(!guests.to_string().contains("canary"), "{guests}");
    assert_eq!(
        agent.state()["datasets"],
        json!([{"name": "sql:crm", "sensitivity": "internal"}])
    );
    assert!(!agent.may_search());

    let (_, sealed) = agent.post(
        "connect",
        json!({"tool": "crm.query", "arguments": {"query": "SELECT body FROM contracts"}, "seal": true}),
    );
    assert!(sealed["response"]["content"]["sealed"].is_string(), "{sealed}");
    assert_eq!(agent.state()["sensitivity"], "internal");

    // A label above its ceiling closes a connector before anything is asked of its source.
    let (status, outside) = agent.call("outside.query", json!({"query": "SELECT name FROM rooms"}));
    assert_eq!(
        (status, &outside["decision"], &outside["response"]),
        (200, &json!("deny"), &json!(null)),
        "{outside}"
    );

    let (_, contracts) = query("SELECT body FROM contracts");
    assert_eq!(contracts["response"]["sensitivity"], "confidential");
    let (status, unknown) = agent.call("crm.drop", json!({}));
    assert_eq!(status, 404, "{unknown}");
    let said = gateway.stop();
    assert!(!said.contains("canary"), "{said}");
}

#[test]
fn a_query_that_fails_on_a_value_counts_as_what_it_looked_at() {
    let place = place();
    place.write(
        "tidegate.toml",
        &format!("{CONFIG}[tools.\"outside.query\"]\nseal = \"always\"\nreturns = \"internal\"\n"),
    );
    let gateway = Gateway::start(&place, &[]);
    let guess = |table: &str, column: &str| json!({"query": format!("SELECT CASE WHEN {column} LIKE '%a%' THEN abs(-9223372036854775807 - 1) END AS x FROM {table}")});
    for (tool, table, column, class) in [
        ("crm.query", "guests", "email", "confidential"),
        ("crm.query", "guests", "name", "internal"),
        ("crm.query", "rooms", "name", "public"),
        // What is sealed stays so, but that it failed shows and counts.
        ("outside.query", "rooms", "name", "internal"),
    ] {
        let agent = Agent::new(&place, &gateway);
        let (status, failed) = agent.call(tool, guess(table, column));
        assert_eq!(status, 422, "{failed}");
        assert_eq!(failed["type"], "urn:tidegate:problem:source-unfinished");
        let dataset = format!("sql:{}", tool.split('.').next().unwrap());
        let state = agent.state();
        assert_eq!(state["sensitivity"], class, "{tool} {table}.{column}");
        assert_eq!(
            state["datasets"],
            json!([{"name": dataset, "sensitivity": class}])
        );
        assert_eq!(agent.may_search(), class == "public");
    }
    // A query that cannot be begun says nothing of what is in a table.
    let agent = Agent::new(&place, &gateway);
    assert_eq!(
        agent
            .call("crm.query", json!({"query": "SELECT nothing FROM guests"}))
            .0,
        422
    );
    assert_eq!(agent.state()["sensitivity"], "public");
    let said = gateway.stop();
    assert!(!said.contains("canary"), "{said}");
}

#[test]
fn files_tag_by_path_and_pdfs_are_read_by_a_process_of_their_own() {
    let place = place();
    std::fs::write(place.path("docs/open/flyer.pdf"), small_pdf("pool opens in May")).unwrap();
    std::fs::write(place.path("docs/open/broken.pdf"), "%PDF-1.7 nothing").unwrap();
    let gateway = Gateway::start(&place, &[]);
    let agent = Agent::new(&place, &gateway);
    let read = |path: &str| agent.call("docs.read", json!({"path": path}));
    let (_, hours) = read("open/hours.txt");
    assert_eq!(hours["response"]["content"]["text"], "open at nine", "{hours}");
    let (_, flyer) = read("open/flyer.pdf");
    assert!(
        flyer["response"]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("pool opens in May"),
        "{flyer}"
    );
    assert_eq!(read("open/broken.pdf").0, 422);
    assert_eq!(agent.state()["sensitivity"], "public");
    assert_eq!(agent.state()["datasets"][0]["name"], "file:docs");
    let (_, pay) = read("hr/pay.txt");
    assert!(!pay.to_string().contains("canary"), "{pay}");
    assert_eq!(read("../state/vault.key").0, 422);
    assert_eq!(read("nothing.txt").0, 404);
    let (_, plan) = read("plan.txt");
    assert_eq!(plan["response"]["sensitivity"], "confidential");
    gateway.stop();

    place.write(
        "tidegate.toml",
        &CONFIG.replace("root = \"docs\"", "root = \".\""),
    );
    let checked = tidegate(&place, &["check", "tidegate.toml"]);
    assert_eq!(checked.code, 2);
    assert!(
        checked.stdout.contains("data_dir lies inside a workspace"),
        "{}",
        checked.stdout
    );
}

#[test]
fn connectors_are_tools_over_mcp() {
    let place = place();
    let mut process = place
        .command(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut answers = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut stdin = process.stdin.take().unwrap();
    let mut next = 0;
    let mut ask = |method: &str, params: Value| -> Value {
        next += 1;
        let request = json!({"jsonrpc": "2.0", "id": next, "method": method, "params": params});
        writeln!(stdin, "{request}").unwrap();
        loop {
            let line = answers.next().unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == next {
                return message["result"].clone();
            }
        }
    };
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    ask("initialize", client);
    let listed = ask("tools/list", json!({}));
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["crm.query", "crm.schema", "docs.list", "docs.read", "docs.search"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let query = |text: &str| json!({"name": "crm.query", "arguments": {"query": text}});
    let rooms = ask("tools/call", query("SELECT name FROM rooms WHERE id = 1"));
    assert_eq!(rooms["structuredContent"]["rows"], json!([["Sea"]]), "{rooms}");
    let guests = ask("tools/call", query("SELECT * FROM guests"));
    assert!(!guests.to_string().contains("canary"), "{guests}");
    let shown: Value = serde_json::from_str(guests["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(shown["rows"], guests["structuredContent"]["rows"]);
    let refused = ask("tools/call", query("DROP TABLE rooms"));
    assert_eq!(
        (&refused["isError"], &refused["structuredContent"]["rule"]),
        (&json!(true), &json!("connector-refused"))
    );
    let closed = ask(
        "tools/call",
        json!({"name": "outside.query", "arguments": {"query": "SELECT 1"}}),
    );
    assert_eq!(closed["isError"], true, "{closed}");
    drop(stdin);
    process.wait().unwrap();
}

#[test]
fn the_gateways_own_document_becomes_tools() {
    let inner_place = place();
    let inner = Gateway::start(&inner_place, &[]);
    let key = create_token(&inner_place, "agent", "bob");
    let place = Place::new();
    let config = format!(
        "data_dir = \"state\"\n[tools.secret_source]\nreturns = \"internal\"\n[catalog.openapi.gate]\ndocument_url = \
         \"{}/openapi.json\"\nheaders_env = {{ Authorization = \"GATE_AUTH\" }}\ndefault = \"public\"\npaths = {{ \
         \"/v1/session/*/manifest\" = \"internal\" }}\n",
        inner.url
    );
    place.write("tidegate.toml", &config);
    let bearer = format!("Bearer {key}");
    let gateway = Gateway::start_with(&place, &[], &[("GATE_AUTH", &bearer)]);
    let agent = Agent::new(&place, &gateway);

    // An address in the body is above what the API may be given: nothing was asked of it.
    let (_, leak) = agent.call("gate.open", json!({"body": {"session_id": "ada@example.org"}}));
    assert_eq!(leak["decision"], "deny", "{leak}");
    let (_, opened) = agent.call("gate.open", json!({"body": {"session_id": "inner"}}));
    assert_eq!(opened["response"]["content"]["status"], 201, "{opened}");
    let (_, state) = agent.call("gate.state", json!({"id": "inner"}));
    assert_eq!(state["response"]["content"]["body"]["user"], "bob", "{state}");
    let asked = json!({"id": "inner", "body": {"tool": "web_search", "arguments": {}}});
    let (_, decision) = agent.call("gate.authorize", asked);
    assert_eq!(
        decision["response"]["content"]["body"]["allowed"], true,
        "{decision}"
    );
    let (status, _) = agent.call("gate.state", json!({"id": ".."}));
    assert_eq!(status, 422);
    assert_eq!(agent.state()["sensitivity"], "public");
    let (_, manifest) = agent.call("gate.manifest", json!({"id": "inner"}));
    assert_eq!(manifest["response"]["sensitivity"], "internal", "{manifest}");
    let (_, closed) = agent.call("gate.state", json!({"id": "inner"}));
    assert_eq!(closed["decision"], "deny", "{closed}");
    assert_eq!(
        agent.state()["datasets"],
        json!([{"name": "api:gate", "sensitivity": "internal"}])
    );
    let said = gateway.stop();
    assert!(!said.contains(&key), "{said}");
    inner.stop();
}

#[test]
fn a_description_that_changes_is_held() {
    let place = Place::new();
    let document = |summary: &str| {
        json!({"openapi": "3.0.3", "paths": {
            "/a": {"get": {"operationId": "changed", "summary": summary}},
            "/b": {"get": {"operationId": "same", "summary": "Stays"}},
        }})
        .to_string()
    };
    place.write(
        "tidegate.toml",
        "data_dir = \"state\"\n[catalog.openapi.dead]\ndocument = \"api.json\"\nbase_url = \"http://127.0.0.1:1\"\n",
    );
    for (summary, changed) in [
        ("Lists rooms", 503),
        ("Lists rooms and more", 404),
        ("Lists rooms", 503),
    ] {
        place.write("api.json", &document(summary));
        let gateway = Gateway::start(&place, &[]);
        let agent = Agent::new(&place, &gateway);
        assert_eq!(agent.call("dead.changed", json!({})).0, changed, "{summary}");
        assert_eq!(agent.call("dead.same", json!({})).0, 503);
        gateway.stop();
    }
}

#[test]
fn a_public_document_becomes_tools_against_a_live_server() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let document = root.join("target/openapi-test/node_modules/@scalar/galaxy/dist/3.1.json");
    if !document.exists() {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "the document is not installed: run cargo xtask openapi-document"
        );
        eprintln!("skipped: cargo xtask openapi-document installs the document this test needs");
        return;
    }
    let (server, url) = galaxy();
    let place = Place::new();
    let config = format!(
        "data_dir = \"state\"\n[catalog.openapi.galaxy]\ndocument = {document:?}\nbase_url = \"{url}\"\nheaders_env = {{ \
         Authorization = \"GALAXY\" }}\ndefault = \"confidential\"\ntags = {{ Planets = \"public\", Authentication = \
         \"internal\" }}\nfields = {{ \"**.email\" = \"pii\" }}\n"
    );
    place.write("tidegate.toml", &config);
    let gateway = Gateway::start_with(&place, &[], &[("GALAXY", "Bearer galaxy-key")]);
    let agent = Agent::new(&place, &gateway);
    let body = |tool: &str, arguments: Value| {
        let (status, answer) = agent.call(&format!("galaxy.{tool}"), arguments);
        assert_eq!(status, 200, "{answer}");
        answer["response"]["content"].clone()
    };
    assert_eq!(
        body("getAllData", json!({"limit": 1}))["body"]["data"],
        json!([{"id": 1, "name": "HD 40307g"}])
    );
    let made = body(
        "createPlanet",
        json!({"body": {"name": "GJ 504 b", "type": "gas_giant"}}),
    );
    assert_eq!((&made["status"], &made["body"]["id"]), (&json!(201), &json!(3)));
    assert_eq!(
        body("getPlanet", json!({"planetId": 3}))["body"]["name"],
        "GJ 504 b"
    );
    assert_eq!(body("deletePlanet", json!({"planetId": 3}))["status"], 204);
    assert_eq!(body("getPlanet", json!({"planetId": 3}))["status"], 404);
    let elsewhere = body("getPlanet", json!({"planetId": 302}));
    assert_eq!(
        (&elsewhere["status"], &elsewhere["body"]),
        (&json!(302), &json!(null))
    );
    assert_eq!(agent.state()["sensitivity"], "public");
    let me = body("getMe", json!({}));
    assert_eq!(me["body"]["id"], 1);
    assert!(me["body"]["email"].as_str().unwrap().starts_with('{'), "{me}");
    assert_eq!(agent.state()["sensitivity"], "internal");
    gateway.stop();
    drop(server);
}

/// The server, which ends with the value.
fn galaxy() -> (Ends, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/galaxy_server.mjs");
    let mut process = Command::new("node")
        .arg(script)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(process.stdout.take().unwrap())
        .read_line(&mut url)
        .unwrap();
    (Ends(process), url.trim().to_owned())
}

struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A PDF of one page that says this.
fn small_pdf(text: &str) -> String {
    let stream = format!("BT /F1 12 Tf 20 100 Td ({text}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut pdf = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(pdf.len());
        pdf.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
    }
    let table = pdf.len();
    pdf.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for place in places {
        pdf.push_str(&format!("{place:010} 00000 n \n"));
    }
    pdf.push_str(&format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    ));
    pdf
}
