//! Two clients at once on one data directory, each with a gateway of its own: what one was given, the other's resolves.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use run::Place;
use run::stdio::{SAID, StdioGateway};
use serde_json::json;

const CONFIG: &str = r#"
data_dir = "state"
[servers.desk]
command = "python3"
args = ["desk.py"]
bare_names = true
[tools.lookup]
returns = "pii"
fields = { "guest.email" = "pii" }
[tools.mail]
returns = "public"
sink = true
ceiling = "pii"
"#;

/// A server that knows a guest, and writes down whom it was told to write to.
const DESK: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    params = message.get("params", {})
    if message["method"] == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "desk", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ["lookup", "mail"]]}
    elif message["method"] == "tools/call" and params["name"] == "lookup":
        print("looked up anna@example.org", file=sys.stderr, flush=True)
        text = json.dumps({"guest": {"email": "anna@example.org"}})
        result = {"content": [{"type": "text", "text": text}]}
    elif message["method"] == "tools/call":
        open("sent", "a").write(params["arguments"]["to"])
        result = {"content": [{"type": "text", "text": "sent"}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

#[test]
fn a_stub_of_one_resolves_at_the_other() {
    let place = Place::new();
    place.write("tidegate.toml", CONFIG);
    place.write("desk.py", DESK);
    let session = ["--session", "both"];
    let mut first = StdioGateway::start(&place, &session);
    first.greet();
    let mut second = StdioGateway::start(&place, &session);
    second.greet();
    let brought = first.ask("tools/call", &json!({"name": "lookup", "arguments": {}}));
    let shown = brought["result"].to_string();
    assert!(
        shown.contains("{GUEST_EMAIL_1}") && !shown.contains("anna"),
        "{brought}"
    );
    let again = second.ask("tools/call", &json!({"name": "lookup", "arguments": {}}));
    assert!(again["result"].to_string().contains("{GUEST_EMAIL_1}"), "{again}");
    let mail = json!({"name": "mail", "arguments": {"to": "{GUEST_EMAIL_1}"}});
    let sent = second.ask("tools/call", &mail);
    assert!(sent["result"].to_string().contains("sent"), "{sent}");
    assert_eq!(
        std::fs::read_to_string(place.path("sent")).unwrap(),
        "anna@example.org"
    );
    assert!(
        first.ask("ping", &json!({})).get("error").is_none(),
        "both are there"
    );
    first.leave();
    second.leave();
    let said = std::fs::read_to_string(place.path(SAID)).unwrap();
    assert!(
        said.contains("looked up [email]") && !said.contains("anna"),
        "{said}"
    );
}
