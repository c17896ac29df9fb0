//! Class reviews: which sources a person should look at, and what they found.

use axum::Json as Answer;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use tidegate_core::Ident;
use tidegate_engine::{ReviewError, ReviewPage, ReviewView};
use tidegate_store::{Assignment, ReviewVerdict, Reviewed};
use utoipa::{IntoParams, ToSchema};

use super::rfc3339;
use crate::auth::Known;
use crate::extract::{Json, cursor, unreadable_query};
use crate::problem::Problem;
use crate::router::Shared;

/// How many reviews are on a page when nobody says.
const ON_PAGE: usize = 50;

/// Which class reviews to list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClassReviewsQuery {
    /// open (when left out), settled or all.
    state: Option<String>,
    /// Where to go on, as the page before said in `next`.
    cursor: Option<String>,
    /// The most reviews on the page: 1 to 200.
    limit: Option<usize>,
}

/// A page of class reviews.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClassReviewsAnswer {
    reviews: Vec<ClassReviewAnswer>,
    /// Where the next page begins; null on the last one.
    next: Option<String>,
}

/// A source whose class somebody should look at.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClassReviewAnswer {
    review_id: String,
    /// A tool, a connector, a destination (`egress:...`) or a dataset.
    source: String,
    /// new_tool, changed_tool, new_connector or pii_leak_risk.
    cause: &'static str,
    /// The class of what the source returned when the review was opened; null when it was assigned none.
    class: Option<&'static str>,
    /// The highest class that it might be given then; null when it was assigned none.
    ceiling: Option<&'static str>,
    /// What it is assigned now; null when this gateway has no such tool or connector.
    now: Option<AssignmentAnswer>,
    opened_at: String,
    /// When the cause was last seen.
    seen_at: String,
    /// How often the cause was seen.
    seen: u32,
    /// open or settled.
    state: &'static str,
    /// assigned-right or changed.
    verdict: Option<&'static str>,
    settled_by: Option<String>,
    settled_role: Option<&'static str>,
    settled_at: Option<String>,
    settled_reason: Option<String>,
}

/// What a source is assigned.
#[derive(Serialize, ToSchema)]
pub(crate) struct AssignmentAnswer {
    /// The class of what it returns.
    class: &'static str,
    /// The highest class that it may be given.
    ceiling: &'static str,
    /// Whether the configuration says so; otherwise it is the strict end of both.
    declared: bool,
}

/// A person's verdict on a class.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettleBody {
    /// assigned-right, or changed: the configuration was edited.
    verdict: String,
    /// Why, in 1 to 500 characters, without values.
    reason: String,
}

/// Sources whose class somebody should look at, longest open first; or those that were settled, newest first.
#[utoipa::path(get, path = "/v1/class-reviews", tag = "class reviews", security(("token" = [])), params(ClassReviewsQuery), responses(
    (status = 200, description = "A page of class reviews", body = ClassReviewsAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn class_reviews(
    State(app): Shared,
    Known(caller): Known,
    query: Result<Query<ClassReviewsQuery>, QueryRejection>,
) -> Result<Answer<ClassReviewsAnswer>, Problem> {
    let Query(query) = query.map_err(|_| unreadable_query("state, cursor and limit"))?;
    let listed = match query.state.as_deref() {
        None | Some("open") => Reviewed::Open,
        Some("settled") => Reviewed::Settled,
        Some("all") => Reviewed::All,
        Some(_) => {
            let detail = "state: expected open, settled or all";
            return Err(Problem::unprocessable("unknown-state", detail));
        }
    };
    let after = cursor(query.cursor.as_deref())?;
    let limit = query.limit.unwrap_or(ON_PAGE);
    let page = app.engine.class_reviews(&caller, listed, after, limit).await?;
    Ok(Answer(page.into()))
}

/// Say what you found. It changes no class: classes are in the configuration, and `changed` says that you edited it.
#[utoipa::path(post, path = "/v1/class-reviews/{id}", tag = "class reviews", security(("token" = [])), params(("id" = String, Path, description = "The review's id")), request_body = SettleBody, responses(
    (status = 200, description = "The review after it", body = ClassReviewAnswer),
    (status = 409, description = "It was settled before", body = Problem, content_type = "application/problem+json"),
    (status = "4XX", description = "What is wrong; nothing was settled", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn settle(
    State(app): Shared,
    Known(caller): Known,
    path: Result<Path<String>, PathRejection>,
    Json(body): Json<SettleBody>,
) -> Result<Answer<ClassReviewAnswer>, Problem> {
    let unknown = || Problem::from(ReviewError::NoReview);
    let Path(id) = path.map_err(|_| unknown())?;
    let id = Ident::parse(&id).map_err(|_| unknown())?;
    let verdict: ReviewVerdict = body.verdict.parse().map_err(|_| {
        Problem::unprocessable("unknown-verdict", "verdict: expected assigned-right or changed")
    })?;
    let settled = app
        .engine
        .settle_review(&caller, &id, verdict, &body.reason)
        .await?;
    Ok(Answer(settled.into()))
}

impl From<ReviewPage> for ClassReviewsAnswer {
    fn from(page: ReviewPage) -> Self {
        Self {
            reviews: page.reviews.into_iter().map(Into::into).collect(),
            next: page.next.map(|place| place.to_string()),
        }
    }
}

impl From<ReviewView> for ClassReviewAnswer {
    fn from(view: ReviewView) -> Self {
        let declared = view.is_declared;
        let now = view.now.map(|Assignment { class, ceiling }| AssignmentAnswer {
            class: class.as_str(),
            ceiling: ceiling.as_str(),
            declared,
        });
        let review = view.review;
        let settled = review.settled.as_ref();
        Self {
            state: review.state(),
            cause: review.cause.as_str(),
            class: review.assigned.map(|assigned| assigned.class.as_str()),
            ceiling: review.assigned.map(|assigned| assigned.ceiling.as_str()),
            now,
            opened_at: rfc3339(review.opened_at),
            seen_at: rfc3339(review.seen_at),
            seen: review.seen,
            verdict: settled.map(|settled| settled.verdict.as_str()),
            settled_by: settled.map(|settled| settled.by.to_string()),
            settled_role: settled.map(|settled| settled.role.as_str()),
            settled_at: settled.map(|settled| rfc3339(settled.at)),
            settled_reason: settled.map(|settled| settled.reason.clone()),
            review_id: review.id.to_string(),
            source: review.source.to_string(),
        }
    }
}
