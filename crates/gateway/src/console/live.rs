//! Parts of a page that follow what happens: the server renders them anew and sends them, and the page puts them in place.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use maud::Markup;

use super::pages::Refused;
use super::visitor::Visitor;
use crate::App;

/// How often a stream looks whether there is something new.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A part that is rendered anew when its mark is another one.
pub(super) trait Part: Send + 'static {
    /// Something that is equal as long as the part looks the same.
    type Mark: PartialEq + Send;

    /// How it stands now.
    fn mark(&mut self) -> impl Future<Output = Option<Self::Mark>> + Send;

    /// The part, rendered.
    fn render(&mut self) -> impl Future<Output = Option<Markup>> + Send;
}

/// Sends the part each time that its mark changes, for as long as the visit lasts. The first one is sent at once: what
/// happened between the page and its stream is not missed.
pub(super) fn follow<P: Part>(
    app: &App,
    visitor: &Visitor,
    part: P,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + use<P>>, Refused> {
    let place = Arc::clone(&app.streams).try_acquire_owned().map_err(|_| {
        let detail = "Too many pages follow along already. Close one, or reload this page now and then.";
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, "Busy", detail)
    })?;
    let (console, key) = (Arc::clone(&app.console), visitor.key);
    let events = stream::unfold((part, None, place), move |(mut part, told, place)| {
        let console = Arc::clone(&console);
        async move {
            loop {
                if !console.sign_ins.still(&key) {
                    return None;
                }
                let mark = part.mark().await?;
                if told.as_ref() != Some(&mark) {
                    let text = part.render().await?.into_string();
                    let event = Event::default().event("show").data(text);
                    return Some((Ok(event), (part, Some(mark), place)));
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}
