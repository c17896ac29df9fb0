//! The way out: what may leave, what comes back, and that an open connection lasts no longer than it may.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod egress_stand;
mod stand;

use egress_stand::{Exit, LARGE, Origin, PATIENCE, answer, basic, problem, roots_of, tls};
use serde_json::json;
use tidegate_core::{Class, Entry, Ident, Kinds, Moment, Name, Role};
use tidegate_gateway::digest;
use tidegate_store::SessionStore as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

fn roots(exit: &Exit) -> rustls::RootCertStore {
    roots_of(&std::fs::read_to_string(exit.stand.directory.path().join("roots.pem")).unwrap())
}

#[tokio::test]
async fn a_request_in_the_clear_goes_where_it_may_and_says_nothing_of_the_proxy() {
    let exit = Exit::start().await;
    let host = format!("public.test:{}", exit.plain.address.port());
    let rest = "Connection: x-private\r\nX-Private: mine\r\nX-Kept: yours\r\nTE: trailers\r\n";
    let got = exit
        .request(&format!("GET http://{host}/a?b=c"), &host, rest)
        .await;
    assert!(
        got.starts_with("HTTP/1.1 200 OK") && got.ends_with("hello"),
        "{got}"
    );
    let seen = exit.plain.seen().to_lowercase();
    assert!(seen.starts_with("get /a?b=c http/1.1\r\n"), "{seen}");
    assert!(
        seen.contains(&format!("host: {host}")) && seen.contains("x-kept: yours"),
        "{seen}"
    );
    for kept_here in ["proxy-authorization", "x-private", "te:", "absolute"] {
        assert!(!seen.contains(kept_here), "{seen}");
    }
    assert_eq!(
        exit.recorded().await,
        [("allow".to_owned(), "within-ceiling".to_owned())]
    );
}

#[tokio::test]
async fn a_large_answer_comes_whole() {
    let exit = Exit::start().await;
    let host = format!("public.test:{}", exit.plain.address.port());
    let got = exit.request(&format!("GET http://{host}/large"), &host, "").await;
    let (head, body) = got.split_once("\r\n\r\n").unwrap();
    assert_eq!(body.len(), LARGE, "{head}");
}

#[tokio::test]
async fn a_tunnel_carries_tls_to_the_host_that_it_names() {
    let exit = Exit::start().await;
    let tunnel = exit
        .tunnel(&format!("public.test:{}", exit.secure.address.port()))
        .await;
    let mut stream = tls(tunnel, "public.test", roots(&exit)).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut reply = vec![0; 15];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply, b"HTTP/1.1 200 OK");
    assert_eq!(exit.names.times_asked("public.test"), 1);
}

#[tokio::test]
async fn the_label_and_the_request_itself_decide_and_a_denial_helps() {
    let exit = Exit::start().await;
    let port = exit.plain.address.port();
    let post_bytes = async |name: &str, body: &[u8]| {
        let host = format!("{name}:{port}");
        let credential = &exit.credential;
        let head = format!(
            "POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: {credential}\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        exit.send(&[head.as_bytes(), body].concat()).await
    };
    let post = async |name: &str, body: &str| post_bytes(name, body.as_bytes()).await;
    let canary = ["AKIA", "Q3XGZ7MWL4PN", "RT2B"].concat();
    let json = format!("{{\"note\": \"the key is {canary}\"}}");
    let form = format!("note=key+{}", canary.replace("AKIA", "%41K%49A"));
    let escaped = canary.replace("AKIA", r"\u0041KIA");
    let lines = format!("{{\"x\":1}}\n{{\"note\":\"the key is {escaped}\"}}\n");
    let marked = format!("\u{feff}[\"the key is {escaped}\"]");
    let broken = format!("[\"the key is {escaped}\"] and so on");
    let text = format!("\"the key is {escaped}\"");
    let hook = format!("payload=%7B%22note%22%3A%22the+key+is%5Cn{canary}%22%7D");
    for carried in [canary.clone(), json, form, hook, lines, marked, broken, text] {
        let denied = post("public.test", &carried).await;
        assert!(denied.starts_with("HTTP/1.1 403 "), "{carried}: {denied}");
        assert_eq!(problem(&denied)["rule"], "arguments-above-ceiling", "{carried}");
        assert!(!denied.contains("Q3XGZ7MWL4PN"), "{denied}");
    }
    let wide = |order: fn(u16) -> [u8; 2]| {
        let letters = format!("{{\"note\":\"the key is {escaped}\"}}");
        letters.encode_utf16().flat_map(order).collect::<Vec<u8>>()
    };
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        let denied = post_bytes("public.test", &wide(order)).await;
        assert_eq!(problem(&denied)["rule"], "arguments-above-ceiling", "{denied}");
    }
    for spelled in [
        "user=bob%40example.com",
        "https://a.example/?mail=ann@example.org",
    ] {
        let (host, credential) = (format!("public.test:{port}"), &exit.credential);
        let head = format!(
            "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: {credential}\r\nCookie: {spelled}\r\n\r\n"
        );
        let denied = exit.send(head.as_bytes()).await;
        assert_eq!(problem(&denied)["rule"], "arguments-above-ceiling", "{denied}");
    }
    assert_eq!(exit.plain.connections(), 0);
    assert!(
        post("public.test", "nothing to see")
            .await
            .starts_with("HTTP/1.1 200 ")
    );

    exit.raise("internal").await;
    let denied = post("public.test", "nothing to see").await;
    let problem = problem(&denied);
    assert!(
        denied
            .to_lowercase()
            .contains("proxy-status: tidegate; error=http_request_denied"),
        "{denied}"
    );
    assert_eq!(
        (&problem["rule"], &problem["allowed"]),
        (&"label-above-ceiling".into(), &false.into())
    );
    assert!(
        problem["reason"].as_str().unwrap().contains("public.test"),
        "{problem}"
    );
    assert!(!problem["remedy"].as_str().unwrap().is_empty());
    let (_, refused) = exit
        .connect(&format!("public.test:{}", exit.secure.address.port()))
        .await;
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    // Whoever may be given more is still reached, and a name that may not be connected to is not even asked for.
    assert!(
        post("partner.test", "nothing to see")
            .await
            .starts_with("HTTP/1.1 200 ")
    );
    let (_, unlisted) = exit.connect("unlisted.example:443").await;
    assert!(unlisted.starts_with("HTTP/1.1 403 "), "{unlisted}");
    assert_eq!(exit.names.times_asked("unlisted.example"), 0);
    assert_eq!(exit.refusals("label-above-ceiling").await, 3);
}

#[tokio::test]
async fn open_tunnels_are_cut_when_the_label_rises_above_their_ceiling() {
    let exit = Exit::start().await;
    let port = exit.plain.address.port();
    let mut low = exit.tunnel(&format!("tcp.test:{port}")).await;
    let secure = format!("partner.test:{}", exit.secure.address.port());
    let mut high = tls(exit.tunnel(&secure).await, "partner.test", roots(&exit))
        .await
        .unwrap();
    let mut reply = [0; 4];
    low.write_all(b"ping").await.unwrap();
    low.read_exact(&mut reply).await.unwrap();

    exit.raise("confidential").await;
    let ended = tokio::time::timeout(PATIENCE, low.read(&mut reply))
        .await
        .unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    high.write_all(b"ping").await.unwrap();
    high.read_exact(&mut reply).await.unwrap();
    assert_eq!(&reply, b"ping");
    exit.until_refused("label-above-ceiling", 1).await;

    exit.raise("secret").await;
    let ended = tokio::time::timeout(PATIENCE, high.read(&mut reply))
        .await
        .unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
}

#[tokio::test]
async fn a_credential_and_its_tunnels_end_with_their_token() {
    let exit = Exit::start().await;
    let target = format!("tcp.test:{}", exit.plain.address.port());
    let mut tunnel = exit.tunnel(&target).await;
    let mut reply = [0; 4];
    tunnel.write_all(b"ping").await.unwrap();
    tunnel.read_exact(&mut reply).await.unwrap();

    exit.stand.revoke(&exit.alice).await;
    let ended = tokio::time::timeout(PATIENCE, tunnel.read(&mut reply))
        .await
        .unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    let (_, refused) = exit.connect(&target).await;
    assert!(refused.starts_with("HTTP/1.1 407 "), "{refused}");
}

#[tokio::test]
async fn a_rise_that_nobody_tells_of_cuts_too() {
    let exit = Exit::start().await;
    let mut tunnel = exit
        .tunnel(&format!("tcp.test:{}", exit.plain.address.port()))
        .await;
    let mut reply = [0; 4];
    tunnel.write_all(b"ping").await.unwrap();
    tunnel.read_exact(&mut reply).await.unwrap();
    // In the store alone, as another process on the same state does it.
    let entry = Entry {
        class: Class::Secret,
        kinds: Kinds::NONE,
        source: Name::parse("elsewhere").unwrap(),
        at: Moment(1),
    };
    let id = Ident::parse(&exit.session).unwrap();
    exit.stand.store.raise(&id, entry).await.unwrap();
    let ended = tokio::time::timeout(PATIENCE, tunnel.read(&mut reply))
        .await
        .unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    exit.until_refused("label-above-ceiling", 1).await;
}

#[tokio::test]
async fn what_comes_back_counts_before_it_is_seen() {
    let exit = Exit::start().await;
    let label = async || {
        let path = format!("/v1/session/{}", exit.session);
        exit.stand.get(&exit.alice, &path).await["sensitivity"].clone()
    };
    let host = format!("public.test:{}", exit.plain.address.port());
    exit.request(&format!("GET http://{host}/"), &host, "").await;
    assert_eq!(label().await, "public");
    let host = format!("intern.test:{}", exit.plain.address.port());
    let got = exit.request(&format!("GET http://{host}/"), &host, "").await;
    assert!(got.ends_with("hello"), "{got}");
    assert_eq!(label().await, "internal");
    let state = exit
        .stand
        .get(&exit.alice, &format!("/v1/session/{}", exit.session))
        .await;
    assert_eq!(state["contamination_source"], format!("egress:{host}"));
}

#[tokio::test]
async fn a_leak_of_what_came_back_names_the_destination_as_the_policy_spells_it() {
    let exit = Exit::start().await;
    let host = format!("some-host.pool.test:{}", exit.plain.address.port());
    let got = exit.request(&format!("GET http://{host}/"), &host, "").await;
    assert!(got.ends_with("hello"), "{got}");
    let path = format!("/v1/session/{}/authorize", exit.session);
    let leak = json!({"tool": "web_search", "arguments": {"q": "canary.person@example.com"}});
    exit.stand.post(&exit.alice, &path, leak).await;
    let operator = exit.stand.holder(Role::HumanOperator, "olga", None).await;
    let open = exit.stand.get(&operator, "/v1/class-reviews").await;
    let mut sources: Vec<_> = open["reviews"]
        .as_array()
        .unwrap()
        .iter()
        .map(|review| (review["source"].clone(), review["class"].clone()))
        .collect();
    sources.sort_by_key(|(source, _)| source.to_string());
    let expected = [("egress:*.pool.test", "internal"), ("web_search", "public")];
    assert_eq!(
        sources,
        expected.map(|(source, class)| (json!(source), json!(class)))
    );
}

#[tokio::test]
async fn an_opened_tunnel_is_looked_into_and_judged_by_each_request() {
    let exit = Exit::start().await;
    let authority = tidegate_gateway::egress::Authority::in_directory(exit.stand.directory.path()).unwrap();
    let own = || roots_of(authority.certificate_pem());
    let ask = async |name: &str, request: &str| {
        let target = format!("{name}:{}", exit.secure.address.port());
        let mut stream = tls(exit.tunnel(&target).await, name, own()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        answer(&mut stream).await
    };
    let port = exit.secure.address.port();
    let clean = format!("GET /a HTTP/1.1\r\nHost: scan.test:{port}\r\n\r\n");
    let got = ask("scan.test", &clean).await;
    assert!(
        got.starts_with("HTTP/1.1 200 OK") && got.ends_with("hello"),
        "{got}"
    );
    assert!(
        exit.secure.seen().starts_with("GET /a HTTP/1.1\r\n"),
        "{}",
        exit.secure.seen()
    );

    let canary = ["AKIA", "Q3XGZ7MWL4PN", "RT2B"].concat();
    let key = format!("GET /?key={canary} HTTP/1.1\r\nHost: scan.test:{port}\r\n\r\n");
    let elsewhere = "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    let folded = format!("GET / HTTP/1.1\r\nHost: scan.test:{port}\r\nX: a\r\n b\r\n\r\n");
    for (request, rule) in [
        (key.as_str(), "arguments-above-ceiling"),
        (elsewhere, "name-mismatch"),
        (&folded, "malformed-request"),
    ] {
        let got = ask("scan.test", request).await;
        assert_eq!(problem(&got)["rule"], rule, "{got}");
        assert_eq!(exit.refusals(rule).await, 1);
    }
    // What a page says counts, and the next request of it is refused.
    let wiki = format!("GET / HTTP/1.1\r\nHost: wiki.test:{port}\r\n\r\n");
    assert!(ask("wiki.test", &wiki).await.ends_with("hello"));
    let (_, refused) = exit.connect(&format!("wiki.test:{port}")).await;
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
}

#[tokio::test]
async fn a_socket_of_its_own_needs_no_credential_and_an_id_alone_is_none() {
    let exit = Exit::start().await;
    let host = format!("public.test:{}", exit.plain.address.port());
    let asked = format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let path = exit.stand.directory.path().join("exit.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let id = Ident::parse(&exit.session).unwrap();
    let bound = exit.proxy.egress().bind(&exit.caller, &id).await.unwrap();
    let proxy = exit.proxy.clone();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        proxy
            .serve_unix(listener, bound, async { drop(stopped.await) })
            .await;
    });
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream.write_all(asked.as_bytes()).await.unwrap();
    assert!(answer(&mut stream).await.ends_with("hello"));
    // A tunnel through it is carried as well, and ends with the serving.
    let mut tunnel = UnixStream::connect(&path).await.unwrap();
    let target = format!("tcp.test:{}", exit.plain.address.port());
    let connect = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\nping");
    tunnel.write_all(connect.as_bytes()).await.unwrap();
    let mut reply = vec![0; b"HTTP/1.1 200 Connection established\r\n\r\nping".len()];
    tunnel.read_exact(&mut reply).await.unwrap();
    assert!(reply.ends_with(b"\r\n\r\nping"));
    stop.send(()).unwrap();
    serving.await.unwrap();
    assert_eq!(answer(&mut tunnel).await, "");

    let stranger = tidegate_engine::Caller {
        principal: Ident::parse("mallory").unwrap(),
        ..exit.caller.clone()
    };
    assert!(exit.proxy.egress().bind(&stranger, &id).await.is_err());
    assert!(
        exit.proxy
            .egress()
            .issue(&stranger, &digest(&exit.alice.token), &id)
            .await
            .is_err()
    );
    for credential in [
        "",
        &basic(&exit.session, ""),
        &basic(&exit.session, &"0".repeat(64)),
        "Bearer x",
    ] {
        let header = format!("Proxy-Authorization: {credential}\r\n");
        let asked = format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n{header}\r\n");
        let got = exit.send(asked.as_bytes()).await;
        assert!(
            got.starts_with("HTTP/1.1 407 ") && got.contains("proxy-authenticate: Basic"),
            "{got}"
        );
    }
    assert_eq!(exit.refusals("no-credential").await, 4);
    assert_eq!(exit.proxy.egress().highest_ceiling(), Some(Class::Secret));
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_connected_to() {
    let exit = Exit::start().await;
    let other = Origin::at(&format!("127.0.0.2:{}", exit.plain.address.port())).await;
    exit.names.lead("public.test", &[&["127.0.0.1"], &["127.0.0.2"]]);
    let host = format!("public.test:{}", exit.plain.address.port());
    let first = exit.request(&format!("GET http://{host}/"), &host, "").await;
    assert!(first.ends_with("hello"), "{first}");
    assert_eq!(exit.names.times_asked("public.test"), 1);
    let second = exit.request(&format!("GET http://{host}/"), &host, "").await;
    assert_eq!(problem(&second)["rule"], "reserved-address");
    assert_eq!((exit.plain.connections(), other.connections()), (1, 0));
}
