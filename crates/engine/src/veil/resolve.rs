//! Stubs and handles become values again: inside a call that a decision let pass, at the last moment.

use std::collections::HashMap;

use serde_json::{Map, Value};
use tidegate_core::{Class, Ident, Permit, Veiled};
use tidegate_ledger::vault::TokenKind;

use super::seal;
use super::table::Table;
use super::token::{Token, tokens, unescape};
use super::{Reading, VeilError};
use crate::access::{Act, Caller};
use crate::{AccessError, Authorized, Engine, Payload};

/// The most stubs and handles in one call.
const MOST_TOKENS: usize = 1_000;
/// The most bytes that may be put into one call.
const MOST_BYTES: usize = 128 << 20;

/// The stubs and handles of a call's arguments.
#[derive(Clone, Debug)]
pub struct Unveiling {
    session: Ident,
    tokens: Vec<Token>,
    pub(crate) veiled: Veiled,
}

impl Unveiling {
    /// Whether the arguments hold stubs or handles that must be resolved before the tool can use them.
    #[must_use]
    pub const fn is_needed(&self) -> bool {
        !self.tokens.is_empty()
    }
}

/// A call that a connector asks to have resolved.
#[derive(Debug)]
pub struct Resolved {
    /// The decision, and the state it was made on.
    pub authorized: Authorized,
    /// The arguments as the tool is to get them; nothing unless the call is allowed.
    pub arguments: Option<Payload>,
}

impl Engine {
    /// Which stubs and handles stand in arguments, and whether they are this session's.
    pub(crate) async fn mentions(&self, id: &Ident, arguments: &Payload) -> Result<Unveiling, AccessError> {
        let mut found = Vec::new();
        collect(arguments.expose(), &mut found);
        let mut unveiling = Unveiling {
            session: id.clone(),
            tokens: Vec::new(),
            veiled: Veiled::Nothing,
        };
        if found.is_empty() {
            return Ok(unveiling);
        }
        let too_many = found.len() > MOST_TOKENS;
        let held = self.veils.of(id, &self.provenance).await?;
        let mut highest: Option<Class> = None;
        let mut is_unknown = too_many;
        for token in found {
            match held.table().and_then(|table| table.find(&token)) {
                Some(entry) => {
                    highest = Some(highest.map_or(entry.class, |class| class.join(entry.class)));
                    unveiling.tokens.push(token);
                }
                None => is_unknown = true,
            }
        }
        unveiling.veiled = match highest {
            Some(class) if !is_unknown => Veiled::Known(class),
            Some(class) => Veiled::Mixed(class),
            None if too_many => Veiled::Mixed(Class::Public),
            None => Veiled::Unknown,
        };
        Ok(unveiling)
    }

    /// Puts values in the place of stubs and handles, for a call that was let pass. Marks on text that merely looks like
    /// a stub are taken off.
    ///
    /// # Errors
    /// When a value is gone or there is too much of it; the call must not be made then.
    pub async fn unveil(
        &self,
        _leave: &Permit,
        unveiling: &Unveiling,
        value: Value,
    ) -> Result<Value, VeilError> {
        if unveiling.tokens.is_empty() {
            return Ok(restored(value, &HashMap::new()));
        }
        let mut held = self.veils.of(&unveiling.session, &self.provenance).await?;
        let (reading, wanted) = (self.reading(), unveiling.clone());
        let unveiling = tokio::task::spawn_blocking(move || {
            let values = held.with(|table| values(table, &reading, &wanted.tokens));
            // The table may say more than the vault holds by now.
            let values = values.inspect_err(|_| held.forget())?;
            check_size(&value, &values)?;
            // Known as put into a call before it is: an echo after a crash is still recognized.
            let used: Vec<_> = values
                .keys()
                .map(|token| (token.name.clone(), token.number))
                .collect();
            reading.vault.mark_resolved(&wanted.session, &used)?;
            held.with(|table| {
                values.keys().for_each(|token| table.mark_resolved(token));
                Ok::<_, VeilError>(())
            })?;
            held.take_note_of_change(&reading)?;
            Ok(restored(value, &values))
        });
        unveiling.await.map_err(|_| VeilError::Interrupted)?
    }

    /// Arguments with the values in them, for a judgement inside the engine; they go no further.
    pub(crate) async fn revealed(
        &self,
        unveiling: &Unveiling,
        arguments: &Payload,
    ) -> Result<Payload, VeilError> {
        let mut held = self.veils.of(&unveiling.session, &self.provenance).await?;
        let (reading, wanted) = (self.reading(), unveiling.tokens.clone());
        let value = arguments.expose().clone();
        let revealing = tokio::task::spawn_blocking(move || {
            let values = held.with(|table| values(table, &reading, &wanted))?;
            check_size(&value, &values)?;
            Ok(Payload::new(restored(value, &values)))
        });
        revealing.await.map_err(|_| VeilError::Interrupted)?
    }

    /// Decides on a call and gives its arguments with the values in them, to a connector that carries them to the tool.
    ///
    /// # Errors
    /// When the caller is no connector, cannot have the session, or a value is gone.
    pub async fn resolve(
        &self,
        caller: &Caller,
        id: &Ident,
        tool: &tidegate_core::Name,
        arguments: Payload,
    ) -> Result<Resolved, AccessError> {
        self.session_for(caller, Act::Resolve, id).await?;
        let authorized = self.authorize(caller, id, tool, &arguments).await?;
        let arguments = match &authorized.decision {
            tidegate_core::Decision::Allow(permit) => {
                let unveiled = self.unveil(permit, &authorized.unveiling, arguments.into_exposed());
                Some(Payload::new(unveiled.await?))
            }
            tidegate_core::Decision::Hold(_) | tidegate_core::Decision::Deny(_) => None,
        };
        Ok(Resolved {
            authorized,
            arguments,
        })
    }
}

/// Every different token in a value, in its texts and its names.
fn collect(value: &Value, found: &mut Vec<Token>) {
    let mut take = |text: &str| {
        for (_, token) in tokens(text) {
            if found.len() <= MOST_TOKENS && !found.contains(&token) {
                found.push(token);
            }
        }
    };
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => {
            members.keys().for_each(|key| take(key));
            members.values().for_each(|member| collect(member, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What tokens stand for.
pub(super) fn values(
    table: &Table,
    reading: &Reading,
    tokens: &[Token],
) -> Result<HashMap<Token, Value>, VeilError> {
    let mut values = HashMap::new();
    for token in tokens {
        values.insert(token.clone(), value_of(table, reading, token)?);
    }
    Ok(values)
}

pub(super) fn value_of(table: &Table, reading: &Reading, token: &Token) -> Result<Value, VeilError> {
    let entry = table.find(token).ok_or(VeilError::Gone)?;
    match entry.kind {
        TokenKind::Text => {
            let bytes = reading.bytes(&entry.pieces)?;
            let text = String::from_utf8(bytes).map_err(|_| VeilError::Gone)?;
            Ok(Value::String(text))
        }
        TokenKind::Json => reading.json(entry.pieces.first().copied()),
        TokenKind::Sealed => {
            let bytes = reading.bytes(entry.pieces.get(1..).unwrap_or_default())?;
            serde_json::from_slice(&bytes).map_err(|_| VeilError::Gone)
        }
        TokenKind::Selection => {
            let piece = reading.json(entry.pieces.first().copied())?;
            let (base, steps) = seal::selection(&piece).ok_or(VeilError::Gone)?;
            if table
                .find(&base)
                .is_none_or(|base| base.kind == TokenKind::Selection)
            {
                return Err(VeilError::Gone);
            }
            Ok(seal::at(&value_of(table, reading, &base)?, &steps).clone())
        }
    }
}

/// A value that is its token alone becomes what it stands for; inside a text it becomes part of the text.
fn restored(value: Value, values: &HashMap<Token, Value>) -> Value {
    match value {
        Value::String(text) => match Token::parse(&text).and_then(|token| values.get(&token)) {
            Some(value) => value.clone(),
            None => Value::String(restored_text(&text, values)),
        },
        Value::Array(items) => items.into_iter().map(|item| restored(item, values)).collect(),
        Value::Object(members) => {
            let members = members
                .into_iter()
                .map(|(key, member)| (restored_text(&key, values), restored(member, values)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn restored_text(text: &str, values: &HashMap<Token, Value>) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for (span, token) in tokens(text) {
        let Some(value) = values.get(&token) else { continue };
        shown.push_str(&unescape(text.get(from..span.start).unwrap_or_default()));
        match value {
            Value::String(value) => shown.push_str(value),
            Value::Null => {}
            other => shown.push_str(&other.to_string()),
        }
        from = span.end;
    }
    shown.push_str(&unescape(text.get(from..).unwrap_or_default()));
    shown
}

/// Refuses a call that would grow beyond all measure by what is put into it.
fn check_size(value: &Value, values: &HashMap<Token, Value>) -> Result<(), VeilError> {
    let sizes: HashMap<&Token, usize> = values
        .iter()
        .map(|(token, value)| (token, value.to_string().len()))
        .collect();
    let mut total = 0usize;
    let mut texts = vec![value];
    let mut add = |text: &str| {
        let mentioned = tokens(text).filter_map(|(_, token)| sizes.get(&token));
        total = mentioned.fold(total, |total, size| total.saturating_add(*size));
    };
    while let Some(value) = texts.pop() {
        match value {
            Value::String(text) => add(text),
            Value::Array(items) => texts.extend(items),
            Value::Object(members) => {
                members.keys().for_each(|key| add(key));
                texts.extend(members.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    if total > MOST_BYTES {
        return Err(VeilError::TooLarge);
    }
    Ok(())
}
