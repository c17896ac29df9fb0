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

/// How often a stream makes sure that its visit still lasts.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// A part that is rendered anew when something happens.
pub(super) trait Part: Send + 'static {
    /// Waits until there is something new. It may be given up at any time and asked again; nothing gets lost by that.
    fn changed(&mut self) -> impl Future<Output = Option<()>> + Send;

    /// The part, rendered.
    fn render(&mut self) -> impl Future<Output = Option<Markup>> + Send;
}

/// Sends the part at once and then each time that something happens, for as long as the visit lasts. Sending it at once
/// makes up for what happened between the page and its stream.
pub(super) fn follow<P: Part>(
    app: &App,
    visitor: &Visitor,
    part: P,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + use<P>>, Refused> {
    let place = Arc::clone(&app.streams).try_acquire_owned().map_err(|_| {
        let detail = "Too many pages follow along already. Close one, or reload this page now and then.";
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, "Busy", detail)
    })?;
    let (app, key) = (app.clone(), visitor.key);
    let events = stream::unfold((part, false, place), move |(mut part, is_told, place)| {
        let app = app.clone();
        async move {
            let mut is_new = !is_told;
            while !is_new {
                match tokio::time::timeout(CHECK_EVERY, part.changed()).await {
                    Ok(changed) => {
                        changed?;
                        is_new = true;
                    }
                    Err(_) if Visitor::lasts(&app, &key).await => {}
                    Err(_) => return None,
                }
            }
            // A visit that has ended meanwhile is told nothing more.
            if !Visitor::lasts(&app, &key).await {
                return None;
            }
            let text = part.render().await?.into_string();
            Some((Ok(Event::default().event("show").data(text)), (part, true, place)))
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}
