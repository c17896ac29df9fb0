//! What can go wrong with class reviews.

use axum::http::StatusCode;
use tidegate_engine::ReviewError;

use super::Problem;

impl From<ReviewError> for Problem {
    fn from(error: ReviewError) -> Self {
        let detail = error.to_string();
        match error {
            ReviewError::Access(error) => error.into(),
            ReviewError::Off => Self::new(
                StatusCode::NOT_FOUND,
                "no-class-reviews",
                "No class reviews here",
                detail,
            ),
            ReviewError::NoReview => Self::new(
                StatusCode::NOT_FOUND,
                "unknown-class-review",
                "Unknown class review",
                detail,
            ),
            ReviewError::Settled => Self::new(
                StatusCode::CONFLICT,
                "class-review-settled",
                "Not any more",
                detail,
            ),
            ReviewError::Full => Self::new(
                StatusCode::CONFLICT,
                "class-reviews-full",
                "Too many are open",
                detail,
            ),
            ReviewError::Reason => Self::unprocessable("reason-missing", detail),
        }
    }
}
