//! The webhook, against a real receiver that fails first.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use tidegate_gateway::webhook::{DELIVERY, SIGNATURE, TIMESTAMP, Webhook, signature};
use tidegate_store::Hidden;

use crate::house::House;

const SECRET: &str = "shared by both";

/// What the receiver was sent, and how many times it still fails.
#[derive(Default)]
struct Received {
    fails: usize,
    tries: usize,
    taken: Vec<(String, Value)>,
}

type Shared = Arc<Mutex<Received>>;

async fn receive(State(received): State<Shared>, headers: HeaderMap, body: String) -> StatusCode {
    let header = |name| headers[name].to_str().unwrap();
    assert_eq!(header(SIGNATURE), signature(SECRET, header(TIMESTAMP), &body));
    let mut received = received.lock().unwrap();
    received.tries += 1;
    if received.fails > 0 {
        received.fails -= 1;
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    let message = serde_json::from_str(&body).unwrap();
    received.taken.push((header(DELIVERY).to_owned(), message));
    StatusCode::NO_CONTENT
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_fails_first_hears_it_all_in_order() {
    let received = Shared::default();
    received.lock().unwrap().fails = 2;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = Router::new()
        .route("/hook", post(receive))
        .with_state(Arc::clone(&received));
    tokio::spawn(async move { axum::serve(listener, routes).await });

    let house = House::start().await;
    let webhook = Webhook {
        url: format!("http://{address}/hook"),
        secret: Hidden::new(SECRET),
        pause: Duration::from_millis(5),
    };
    tokio::spawn(webhook.tell(house.stand.engine.gate_news().unwrap()));
    let mail = json!({"to": "canary.guest@hotel-canary.example"});
    let gate = house.held(&mail).await;
    house.approve(&gate).await;
    house.ask(&mail).await;
    while received.lock().unwrap().taken.len() < 3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let received = received.lock().unwrap();
    assert_eq!(received.tries, 5, "two failures and three messages");
    let events: Vec<_> = received
        .taken
        .iter()
        .map(|(_, message)| message["event"].clone())
        .collect();
    assert_eq!(events, [json!("opened"), json!("decided"), json!("spent")]);
    for (delivery, message) in &received.taken {
        assert!(delivery.starts_with(&gate));
        assert_eq!(message["gate_id"], json!(gate));
        let text = message.to_string();
        assert!(!text.contains("canary") && !text.contains("as agreed"), "{text}");
    }
}
