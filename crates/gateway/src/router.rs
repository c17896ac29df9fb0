//! The routes, their document, and what stands around every request.

use std::any::Any;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use tidegate_engine::Engine;
use tidegate_engine::egress::Egress;
use tidegate_store::TokenStore;
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::connect::Connectors;
use crate::console::{self, Console, ConsoleOptions};
use crate::egress::Proxy;
use crate::mcp::{self, Mcp};
use crate::problem::Problem;
use crate::telemetry::Metrics;
use crate::{Limits, api, health, page, telemetry};

/// What handlers share. It is handed to every layer and handler of every request, so it is one count, not one for each part.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// The parts of what handlers share.
#[derive(Clone)]
pub struct Parts {
    /// The engine that decides.
    pub engine: Arc<Engine>,
    /// Who holds which token.
    pub tokens: Arc<dyn TokenStore>,
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// The bounds of a request.
    pub limits: Limits,
    /// Places for label streams.
    pub streams: Arc<Semaphore>,
    /// The gateway to MCP servers, where some are configured.
    pub mcp: Option<Arc<Mcp>>,
    /// The gateway's own connectors.
    pub connectors: Arc<Connectors>,
    /// What the console's pages share.
    pub(crate) console: Arc<Console>,
    has_console: bool,
    /// The use cases of the egress proxy and where it listens, where there is one.
    pub egress: Option<(Arc<Egress>, SocketAddr)>,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl App {
    /// What handlers share, from its parts.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        tokens: Arc<dyn TokenStore>,
        metrics: Arc<Metrics>,
        limits: Limits,
    ) -> Self {
        let streams = Arc::new(Semaphore::new(limits.streams));
        Self(Arc::new(Parts {
            engine,
            tokens,
            metrics,
            limits,
            streams,
            mcp: None,
            connectors: Arc::default(),
            console: Arc::new(Console::new(ConsoleOptions::STANDARD)),
            has_console: true,
            egress: None,
        }))
    }

    /// The same with an egress proxy that listens at this address.
    #[must_use]
    pub fn with_egress(self, proxy: &Proxy, address: SocketAddr) -> Self {
        let egress = Arc::clone(proxy.egress());
        self.with(|parts| parts.egress = Some((egress, address)))
    }

    /// The same without pages for people.
    #[must_use]
    pub fn without_console(self) -> Self {
        self.with(|parts| parts.has_console = false)
    }

    /// The same with a console that was told something else.
    #[must_use]
    pub fn with_console(self, options: ConsoleOptions) -> Self {
        self.with(|parts| parts.console = Arc::new(Console::new(options)))
    }

    /// The same with a gateway to MCP servers, at /mcp.
    #[must_use]
    pub fn with_mcp(self, mcp: Arc<Mcp>) -> Self {
        self.with(|parts| parts.mcp = Some(mcp))
    }

    /// The same with connectors.
    #[must_use]
    pub fn with_connectors(self, connectors: Arc<Connectors>) -> Self {
        self.with(|parts| parts.connectors = connectors)
    }

    fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

#[derive(OpenApi)]
#[openapi(info(
    title = "Tidegate",
    description = "A data-leak-prevention gateway for AI agents. A session is labelled with the highest class of data \
                   that entered it; the label never falls by itself; a call passes only if the label and its arguments \
                   are at or under the tool's ceiling."
))]
struct Document;

/// The document of the API, as served at /openapi.json.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    documented_routes().split_for_parts().1
}

fn documented_routes() -> OpenApiRouter<App> {
    let mut document = Document::openapi();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    document
        .components
        .get_or_insert_default()
        .add_security_scheme("token", bearer);
    let bounded = OpenApiRouter::with_openapi(document)
        .routes(routes!(api::sessions::open))
        .routes(routes!(api::sessions::state))
        .routes(routes!(api::plan::manifest))
        .routes(routes!(api::plan::validate))
        .routes(routes!(api::calls::authorize))
        .routes(routes!(api::calls::respond))
        .routes(routes!(api::calls::output))
        .routes(routes!(api::connect::call))
        .routes(routes!(api::context::assemble))
        .routes(routes!(api::runs::note))
        .routes(routes!(api::runs::recall))
        .routes(routes!(api::runs::end))
        .routes(routes!(api::runs::hand_back))
        .routes(routes!(api::operator::input))
        .routes(routes!(api::egress::issue))
        .routes(routes!(api::veil::select))
        .routes(routes!(api::veil::resolve))
        .routes(routes!(api::sessions::add_dataset))
        .routes(routes!(api::sessions::reset))
        .routes(routes!(api::gates::list))
        .routes(routes!(api::gates::show))
        .routes(routes!(api::gates::decide))
        .routes(routes!(api::gates::reveal))
        .routes(routes!(api::gates::ask, api::gates::of_session))
        .routes(routes!(api::gates::await_one))
        .routes(routes!(api::reviews::class_reviews))
        .routes(routes!(api::reviews::settle))
        .routes(routes!(api::provenance::records))
        .routes(routes!(api::provenance::proof))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics));
    let streams = OpenApiRouter::new()
        .routes(routes!(api::events::stream))
        .routes(routes!(api::gate_events::stream));
    bounded.merge(streams)
}

/// The gateway as a service.
pub fn router(app: App) -> Router {
    let (routes, document) = documented_routes().split_for_parts();
    let page = page::render(&document);
    let document = document.to_json().unwrap_or_default();
    let pages = match app.has_console {
        true => Router::new().nest("/console", console::routes(&app)),
        false => Router::new(),
    };
    let timeout = TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, app.limits.request_timeout);
    routes
        .route(
            "/openapi.json",
            get(move || async move { json_document(document) }),
        )
        .route("/docs", get(move || async move { page }))
        .merge(pages)
        .route(
            "/mcp",
            post(mcp::http::post)
                .get(mcp::http::get)
                .delete(mcp::http::delete),
        )
        .route(
            "/",
            get(|| async { axum::response::Redirect::temporary("/docs") }),
        )
        .fallback(|| async { Problem::not_found() })
        .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
        .layer(timeout)
        .layer(DefaultBodyLimit::max(app.limits.body_bytes))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(
            app.clone(),
            telemetry::observe_request,
        ))
        .with_state(app)
}

fn json_document(document: String) -> Response {
    (
        [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))],
        document,
    )
        .into_response()
}

/// A panic is an answer too, and never an allowance. Its message may quote anything, so it is not repeated.
fn panicked(_panic: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!("a request handler panicked");
    Problem::internal().into_response()
}

/// The state, for handlers that take all of it.
pub(crate) type Shared = State<App>;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;

    #[tokio::test]
    async fn a_panic_is_an_answer_that_tells_nothing() {
        let response = panicked(Box::new("canary-value"));
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(
            body.contains("nothing was allowed") && !body.contains("canary"),
            "{body}"
        );
    }
}
