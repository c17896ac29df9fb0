//! The stream of what happens at the gates.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_tells_what_happens_and_goes_on_where_it_was() {
    let house = House::start().await;
    let mut told = events(&house, None).await;
    let mail = json!({"to": "desk"});
    let gate = house.held(&mail).await;
    let (name, id, opened) = told.next().await;
    assert_eq!(
        (name.as_str(), &opened["gate_id"], &opened["state"]),
        ("opened", &json!(gate), &json!("open"))
    );
    house.approve(&gate).await;
    assert_eq!(told.next().await.0, "decided");
    house.ask(&mail).await;
    assert_eq!(told.next().await.0, "spent");
    drop(told);
    // Whoever comes back hears what was missed, as it stands now.
    let mut again = events(&house, Some(&id)).await;
    let (name, _, gate_now) = again.next().await;
    assert_eq!((name.as_str(), &gate_now["gate_id"]), ("spent", &json!(gate)));
}

struct Told {
    response: reqwest::Response,
    text: String,
}

async fn events(house: &House, after: Option<&str>) -> Told {
    let url = house.stand.url("/v1/gates/events");
    let mut request = house.stand.client.get(url).bearer_auth(&house.operator.token);
    if let Some(id) = after {
        request = request.header("last-event-id", id);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    Told {
        response,
        text: String::new(),
    }
}

impl Told {
    /// The next event: its name, its id, and what it says.
    async fn next(&mut self) -> (String, String, Value) {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|value| value.trim().to_owned())
                };
                let found = field("event:").map(|name| {
                    let data = serde_json::from_str(&field("data:").unwrap()).unwrap();
                    (name, field("id:").unwrap(), data)
                });
                self.text = rest.to_owned();
                if let Some(found) = found {
                    return found;
                }
                continue;
            }
            let chunk = self.response.chunk().await.unwrap().unwrap();
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}
