//! The few files that pages load, from this binary.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::pages::Refused;

/// The sign of the console.
pub(super) const MARK: &str = include_str!("assets/mark.svg");

/// Name, type and text.
const FILES: [(&str, &str, &str); 3] = [
    (
        "console.css",
        "text/css; charset=utf-8",
        include_str!("assets/console.css"),
    ),
    (
        "console.js",
        "text/javascript; charset=utf-8",
        include_str!("assets/console.js"),
    ),
    ("mark.svg", "image/svg+xml", MARK),
];

/// Which build of the files this is, so that a browser keeps them exactly as long as they are the same.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = Sha256::new();
    for (_, _, text) in FILES {
        hasher.update(text);
    }
    let digest = hasher.finalize();
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
});

/// Where a page finds a file.
pub(super) fn address(file: &str) -> String {
    format!("/console/assets/{file}?v={}", *VERSION)
}

pub(super) async fn serve(Path(file): Path<String>) -> Response {
    match FILES.into_iter().find(|(name, _, _)| *name == file) {
        Some((_, kind, text)) => {
            let kept = "public, max-age=31536000, immutable";
            (
                [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, kept)],
                text,
            )
                .into_response()
        }
        None => Refused::not_found().into_response(),
    }
}
