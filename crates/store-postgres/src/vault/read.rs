//! Rows as what was written; what does not read so is an error and never a guess.

use tidegate_core::{Class, Ident};
use tidegate_ledger::EvidencePointer;
use tidegate_ledger::vault::{Held, Issued, Owed, Sealed, TokenKind, VaultError, Why};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, place: usize) -> Result<T, VaultError> {
    row.try_get(place).map_err(|_| VaultError::Unreadable)
}

pub(super) fn text(row: &Row, place: usize) -> Result<&str, VaultError> {
    column(row, place)
}

pub(super) fn bytes<const N: usize>(row: &Row, place: usize) -> Result<[u8; N], VaultError> {
    let bytes: &[u8] = column(row, place)?;
    bytes.try_into().map_err(|_| VaultError::Unreadable)
}

/// A pointer from its id and its class.
pub(super) fn pointer(row: &Row) -> Result<EvidencePointer, VaultError> {
    Ok(EvidencePointer::new(class(row, 1)?, bytes(row, 0)?))
}

/// A key, a content's key under it, and the content.
pub(super) fn sealed(row: &Row) -> Result<Sealed, VaultError> {
    Ok(Sealed {
        key_id: bytes(row, 0)?,
        wrapped: column(row, 1)?,
        content: column(row, 2)?,
    })
}

/// A piece without its content.
pub(super) fn wrapped(row: &Row) -> Result<(EvidencePointer, Sealed), VaultError> {
    let sealed = Sealed {
        key_id: bytes(row, 2)?,
        wrapped: column(row, 3)?,
        content: Vec::new(),
    };
    Ok((pointer(row)?, sealed))
}

pub(super) fn held(row: &Row) -> Result<Held, VaultError> {
    if let Some(at_ms) = column(row, 0)? {
        return Ok(Held::Destroyed { at_ms });
    }
    let (wrapped, content) = (column::<Option<_>>(row, 2)?, column::<Option<_>>(row, 3)?);
    match (wrapped, content) {
        (Some(wrapped), Some(content)) => Ok(Held::Disk(Sealed {
            key_id: bytes(row, 1)?,
            wrapped,
            content,
        })),
        (None, None) => Ok(Held::Memory),
        _ => Err(VaultError::Unreadable),
    }
}

pub(super) fn issued(row: &Row) -> Result<Issued, VaultError> {
    let class = class(row, 3)?;
    let (ids, rest) = column::<&[u8]>(row, 5)?.as_chunks::<16>();
    if !rest.is_empty() {
        return Err(VaultError::Unreadable);
    }
    let digest: Option<&[u8]> = column(row, 4)?;
    let digest = digest.map(TryInto::try_into).transpose();
    Ok(Issued {
        name: column(row, 0)?,
        number: small(row, 1)?,
        kind: TokenKind::of_number(u8::try_from(column::<i16>(row, 2)?).map_err(|_| VaultError::Unreadable)?)
            .ok_or(VaultError::Unreadable)?,
        class,
        digest: digest.map_err(|_| VaultError::Unreadable)?,
        pieces: ids.iter().map(|id| EvidencePointer::new(class, *id)).collect(),
        alive: column(row, 7)?,
        resolved: column(row, 6)?,
    })
}

/// A destruction that no record says yet.
pub(super) fn owed(row: &Row) -> Result<Owed, VaultError> {
    let cause = u8::try_from(column::<i16>(row, 3)?).map_err(|_| VaultError::Unreadable)?;
    Ok(Owed {
        pointer: pointer(row)?,
        session: Ident::parse(text(row, 2)?).map_err(|_| VaultError::Unreadable)?,
        why: Why::of_row(cause, column(row, 4)?).ok_or(VaultError::Unreadable)?,
    })
}

fn class(row: &Row, place: usize) -> Result<Class, VaultError> {
    let rank = u8::try_from(column::<i16>(row, place)?).ok();
    rank.and_then(Class::from_rank).ok_or(VaultError::Unreadable)
}

fn small(row: &Row, place: usize) -> Result<u32, VaultError> {
    u32::try_from(column::<i64>(row, place)?).map_err(|_| VaultError::Unreadable)
}
