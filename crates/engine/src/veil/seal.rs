//! Sealing: a whole result behind a handle, of which the agent sees the shape alone.

use serde_json::{Value, json};
use tidegate_core::{Class, Ident, Name};
use tidegate_ledger::event::EvidencePointer;
use tidegate_ledger::vault::{Keep, MAX_EVIDENCE_BYTES, TokenKind};

use super::shape::Shape;
use super::table::Table;
use super::token::{Token, name_for};
use super::{Reading, VeilError};
use crate::access::{Act, Caller};
use crate::inspect::Inspector;
use crate::{AccessError, Engine};

/// The longest pointer into a sealed result, and the most steps of one.
const LONGEST_POINTER: usize = 1_000;
const MOST_STEPS: usize = 64;

/// What an agent holds of a sealed result.
#[derive(Clone, Debug, PartialEq)]
pub struct Handle {
    /// How it is written in arguments: `{SEALED_BOOKING_LOOKUP_1}`.
    pub token: String,
    /// The class of what is behind it.
    pub class: Class,
    /// What may be known of it: names, types and rough counts.
    pub shape: Value,
}

impl Handle {
    /// The handle as an agent reads it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "sealed": self.token,
            "class": self.class.as_str(),
            "shape": self.shape,
            "note": "This result is sealed: it did not enter the context. Pass the handle, or a selection from it, to a \
                     tool that is an authorized sink.",
        })
    }
}

/// Why nothing could be selected.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// The caller cannot have the session.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The session was not given such a handle.
    #[error("this session holds no such handle; use one as it was written")]
    UnknownHandle,
    /// It is no pointer.
    #[error(
        "a pointer is empty or begins with /, has at most 64 steps and 1000 bytes, and writes ~ as ~0 and / as ~1"
    )]
    Pointer,
    /// The session has too many handles.
    #[error("this session holds too many stubs and handles; go on in a new session")]
    TooMany,
    /// The vault failed.
    #[error(transparent)]
    Veil(#[from] VeilError),
}

/// Puts a value behind a handle. What the session is shown for one source only widens.
pub(super) fn seal(
    table: &mut Table,
    reading: &Reading,
    inspector: &Inspector,
    source: &Name,
    (class, keep): (Class, Keep),
    value: &Value,
) -> Result<Option<Handle>, VeilError> {
    let name = format!("SEALED_{}", name_for(source.as_str().split('.'), "RESULT"));
    let shape = Shape::of(value, &|name| inspector.is_plain(name));
    let before = table.newest(&name, TokenKind::Sealed).cloned();
    let (shape, shown_class) = match before {
        Some(before) => {
            let head = reading.json(before.pieces.first().copied())?;
            let was = head
                .get("class")
                .and_then(Value::as_str)
                .and_then(|class| class.parse().ok());
            let was: Class = was.unwrap_or(Class::Public);
            (
                Shape::read(head.get("shape").unwrap_or(&Value::Null)).join(shape),
                was.join(class),
            )
        }
        None => (shape, class),
    };
    let head = json!({"class": shown_class.as_str(), "shape": shape.to_json()}).to_string();
    let body = value.to_string().into_bytes();
    let digest = table.digest(&[b"sealed", source.as_str().as_bytes(), &body]);
    let mut pieces = vec![head.into_bytes()];
    pieces.extend(body.chunks(MAX_EVIDENCE_BYTES).map(<[u8]>::to_vec));
    let token = table.token(&name, TokenKind::Sealed, digest, class, keep, pieces);
    Ok(token.map(|token| Handle {
        token: token.to_string(),
        class: shown_class,
        shape: shape.to_json(),
    }))
}

/// Where the sealed content itself lies.
pub(super) fn evidence(table: &Table, handle: &Handle) -> Option<EvidencePointer> {
    let token = Token::parse(&handle.token)?;
    table.find(&token)?.pieces.get(1).copied()
}

impl Engine {
    /// Selects within a sealed result. It gives another handle, and tells nothing that the first did not.
    ///
    /// # Errors
    /// When the caller may not, the handle is not the session's, or the pointer is none.
    pub async fn select(
        &self,
        caller: &Caller,
        id: &Ident,
        handle: &str,
        pointer: &str,
    ) -> Result<Handle, SelectError> {
        self.session_for(caller, Act::Call, id).await?;
        let steps = steps(pointer).ok_or(SelectError::Pointer)?;
        let token = Token::parse(handle).ok_or(SelectError::UnknownHandle)?;
        let mut held = self.veils.of(id, &self.provenance).await?;
        let reading = self.reading();
        let selected = tokio::task::spawn_blocking(move || {
            let selected = held.with(|table| select(table, &reading, &token, &steps));
            selected.and_then(|handle| held.make_durable(&reading).map(|()| handle).map_err(Into::into))
        });
        selected.await.map_err(|_| VeilError::Interrupted)?
    }
}

fn select(
    table: &mut Table,
    reading: &Reading,
    token: &Token,
    steps: &[String],
) -> Result<Handle, SelectError> {
    let entry = table.find(token).cloned().ok_or(SelectError::UnknownHandle)?;
    let head = match entry.kind {
        TokenKind::Sealed | TokenKind::Selection => reading.json(entry.pieces.first().copied())?,
        TokenKind::Json => Value::Null,
        TokenKind::Text => return Err(SelectError::UnknownHandle),
    };
    let (base, mut whole) = match entry.kind {
        TokenKind::Selection => selection(&head).ok_or(SelectError::UnknownHandle)?,
        TokenKind::Sealed | TokenKind::Json | TokenKind::Text => (token.clone(), Vec::new()),
    };
    whole.extend_from_slice(steps);
    if whole.len() > MOST_STEPS {
        return Err(SelectError::Pointer);
    }
    let class = head
        .get("class")
        .and_then(Value::as_str)
        .and_then(|class| class.parse().ok());
    let class: Class = class.unwrap_or(entry.class);
    let shape = Shape::read(head.get("shape").unwrap_or(&Value::Null))
        .at(steps)
        .to_json();
    let piece = json!({"of": base.to_string(), "at": whole, "class": class.as_str(), "shape": shape});
    let digest = table.digest(&[
        b"selection",
        base.to_string().as_bytes(),
        json!(whole).to_string().as_bytes(),
    ]);
    let piece = piece.to_string().into_bytes();
    let issued = table.token(
        &base.name,
        TokenKind::Selection,
        digest,
        entry.class,
        Keep::ByClass,
        vec![piece],
    );
    issued.map_or(Err(SelectError::TooMany), |token| {
        Ok(Handle {
            token: token.to_string(),
            class,
            shape,
        })
    })
}

/// What a selection was made of, and where in it.
pub(super) fn selection(piece: &Value) -> Option<(Token, Vec<String>)> {
    let base = Token::parse(piece.get("of")?.as_str()?)?;
    let steps = piece.get("at")?.as_array()?.iter();
    let steps: Option<Vec<String>> = steps.map(|step| step.as_str().map(str::to_owned)).collect();
    Some((base, steps?))
}

/// The steps of a JSON pointer.
fn steps(pointer: &str) -> Option<Vec<String>> {
    if pointer.len() > LONGEST_POINTER {
        return None;
    }
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let unescaped = |step: &str| {
        let is_bad = step
            .match_indices('~')
            .any(|(at, _)| !matches!(step.as_bytes().get(at + 1), Some(b'0' | b'1')));
        (!is_bad).then(|| step.replace("~1", "/").replace("~0", "~"))
    };
    pointer.strip_prefix('/')?.split('/').map(unescaped).collect()
}

/// The part of a value that steps lead to; nothing where they lead nowhere.
pub(super) fn at<'a>(value: &'a Value, steps: &[String]) -> &'a Value {
    let mut place = value;
    for step in steps {
        let below = match place {
            Value::Object(members) => members.get(step),
            Value::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        // Whether something is there is not for the agent to find out, so a miss is no error.
        place = below.unwrap_or(&Value::Null);
    }
    place
}
