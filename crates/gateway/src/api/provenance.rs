//! The record, for auditors.

use std::time::SystemTime;

use axum::Json as Answer;
use axum::extract::{Query, State};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tidegate_core::{Class, Ident};
use tidegate_ledger::{Chain, Cursor, Event, Filter, Name, Reader};
use utoipa::{IntoParams, ToSchema};

use crate::auth::Known;
use crate::extract::ident;
use crate::problem::Problem;
use crate::router::Shared;

/// Which records are wanted. Every part that is given must hold.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// Of this session.
    session: Option<String>,
    /// Of this type, such as `decision` or `rise`.
    event: Option<String>,
    /// Not before this time (RFC 3339).
    from: Option<String>,
    /// Before this time (RFC 3339).
    until: Option<String>,
    /// About data of this class.
    class: Option<String>,
    /// About this tool.
    tool: Option<String>,
    /// Where an earlier page ended.
    cursor: Option<String>,
    /// At most this many, up to 1000.
    limit: Option<usize>,
}

/// Some records, and where to go on.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecordsAnswer {
    /// In the order they were recorded; docs/ledger-schema.json describes each.
    #[schema(value_type = Vec<Object>)]
    records: Vec<Box<RawValue>>,
    /// Where several gateways share a state: the name of the ledger that each record is in, which is its public key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ledgers: Vec<String>,
    /// The cursor of the next page; null when this was the last.
    next_cursor: Option<String>,
}

/// Which record is to be proved.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// The session whose chain it is in; left out for the gateway's own chain.
    session: Option<String>,
    /// Its place in the chain.
    seq: u64,
}

/// A proof that anyone can check with the public key alone.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProofAnswer {
    /// The record, its way to a signed root, and the signature.
    #[schema(value_type = Object)]
    proof: Box<RawValue>,
    /// The key that checks it.
    public_key: String,
}

/// What happened, as recorded: decisions, rises, resets and the rest, without any content.
#[utoipa::path(get, path = "/v1/provenance", tag = "record", security(("token" = [])), params(Wanted), responses(
    (status = 200, description = "Records in order", body = RecordsAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn records(
    State(app): Shared,
    Known(caller): Known,
    wanted: Result<Query<Wanted>, axum::extract::rejection::QueryRejection>,
) -> Result<Answer<RecordsAnswer>, Problem> {
    let Query(wanted) = wanted.map_err(|_| unknown_filter())?;
    let after = wanted.cursor.as_deref().map(cursor).transpose()?;
    let limit = wanted.limit.unwrap_or(100).min(Reader::MAX_PAGE);
    let page = app.engine.audit(&caller, filter(&wanted)?, after, limit).await?;
    let lines = page
        .records
        .iter()
        .map(|record| RawValue::from_string(record.to_json()));
    let records = lines.collect::<Result<_, _>>().map_err(|_| Problem::internal())?;
    Ok(Answer(RecordsAnswer {
        records,
        ledgers: page.ledgers.iter().map(ToString::to_string).collect(),
        next_cursor: page.next.map(|next| next.to_string()),
    }))
}

/// The proof that one record was recorded: checkable offline with the public key alone.
#[utoipa::path(get, path = "/v1/provenance/proof", tag = "record", security(("token" = [])), params(Which), responses(
    (status = 200, description = "The proof and the key", body = ProofAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn proof(
    State(app): Shared,
    Known(caller): Known,
    which: Result<Query<Which>, axum::extract::rejection::QueryRejection>,
) -> Result<Answer<ProofAnswer>, Problem> {
    let Query(which) = which.map_err(|_| unknown_filter())?;
    let (proof, key) = app
        .engine
        .prove(&caller, chain(which.session.as_deref())?, which.seq)
        .await?;
    let proof = RawValue::from_string(proof.to_json()).map_err(|_| Problem::internal())?;
    Ok(Answer(ProofAnswer {
        proof,
        public_key: key.to_text(),
    }))
}

fn unknown_filter() -> Problem {
    let detail = "a query parameter is unknown or has the wrong form; /docs shows what this call takes";
    Problem::bad_request("bad-query", detail)
}

fn cursor(text: &str) -> Result<Cursor, Problem> {
    Cursor::parse(text)
        .ok_or_else(|| Problem::bad_request("bad-query", "cursor: not one that this call gave"))
}

fn chain(session: Option<&str>) -> Result<Chain, Problem> {
    Ok(session
        .map(|text| ident("session", text))
        .transpose()?
        .map_or(Chain::Gateway, Chain::Session))
}

fn filter(wanted: &Wanted) -> Result<Filter, Problem> {
    let session = wanted
        .session
        .as_deref()
        .map(|text| ident("session", text))
        .transpose()?;
    Ok(Filter {
        chain: session.map(|id: Ident| Chain::Session(id)),
        event: wanted.event.as_deref().map(event_type).transpose()?,
        from: wanted
            .from
            .as_deref()
            .map(|text| time("from", text))
            .transpose()?,
        until: wanted
            .until
            .as_deref()
            .map(|text| time("until", text))
            .transpose()?,
        class: wanted.class.as_deref().map(class).transpose()?,
        tool: wanted.tool.as_deref().map(Name::or_unnameable),
    })
}

fn event_type(text: &str) -> Result<String, Problem> {
    let known = Event::TYPES.contains(&text).then(|| text.to_owned());
    known.ok_or_else(|| {
        Problem::bad_request("bad-query", format!("event: one of {}", Event::TYPES.join(", ")))
    })
}

fn class(text: &str) -> Result<Class, Problem> {
    text.parse()
        .map_err(|why| Problem::bad_request("bad-query", format!("class: {why}")))
}

fn time(field: &str, text: &str) -> Result<SystemTime, Problem> {
    let parsed: Result<Timestamp, _> = text.parse();
    let detail = || format!("{field}: not a time such as 2026-01-31T12:00:00Z");
    parsed
        .map(SystemTime::from)
        .map_err(|_| Problem::bad_request("bad-query", detail()))
}
