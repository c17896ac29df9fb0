//! A proof for one record: the record, the way to a root, and the signature over that root. Whoever has the public
//! key checks it without the ledger.

use data_encoding::{BASE64, HEXLOWER};
use serde::{Deserialize, Serialize};

use crate::Event;
use crate::bytes::Bytes;
use crate::checkpoint::{self, PublicKey, SignedCheckpoint};
use crate::read::{ReadError, Reader};
use crate::record::{self, Chain, Hash, RecordView};
use crate::segment::{self, At, FrameKind, Header};
use crate::tree::{self, Climb};

/// A record with everything that shows it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// What the record's hash covers.
    body: Vec<u8>,
    path: Vec<Hash>,
    checkpoint: SignedCheckpoint,
}

/// What a proof shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Proved {
    /// The record's place among all records.
    pub index: u64,
    /// Its chain.
    pub chain: Chain,
    /// Its place in the chain.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// Its hash.
    pub hash: Hash,
    /// What happened.
    pub event: Event,
}

/// Why a proof shows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadProof {
    /// The text has another form.
    #[error("this is not a proof")]
    Form,
    /// The checkpoint is not signed with this key.
    #[error("the proof's checkpoint is not signed with this key")]
    Signature,
    /// The record is not under the checkpoint.
    #[error("the record is not part of what the checkpoint covers")]
    NotCovered,
}

/// Why there is no proof.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// There is no such record.
    #[error("there is no such record")]
    NoSuchRecord,
    /// No checkpoint covers it yet.
    #[error("no checkpoint covers the record yet: try again in a moment")]
    NotYetSigned,
    /// The ledger cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Reader {
    /// The proof for a record.
    ///
    /// Only the segment that holds the record is read, and the front of the next if need be: every segment begins
    /// with a checkpoint, and a path can be climbed from any checkpoint before the record.
    ///
    /// # Errors
    /// When there is no such record, or none is signed yet, or the ledger cannot be read.
    pub fn prove(&self, chain: &Chain, seq: u64) -> Result<Proof, ProveError> {
        let location = self.location_of(chain, seq)?.ok_or(ProveError::NoSuchRecord)?;
        let damaged = || ReadError::Damaged {
            record: location.index,
        };
        let mut climb: Option<Climb> = None;
        let mut body = None;
        let mut bytes = Vec::new();
        for number in location.segment..=location.segment + 1 {
            match segment::read(&self.dir, number, &mut bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
                read => read.map_err(ReadError::Io)?,
            }
            let mut position = Header::LEN;
            while let At::Frame(frame) = segment::at(&bytes, position) {
                position += frame.len();
                if frame.kind == FrameKind::Checkpoint {
                    let (signed, frontier) = checkpoint::parse_payload(frame.payload).ok_or_else(damaged)?;
                    if signed.checkpoint.size <= location.index {
                        climb = Some(Climb::new(frontier, location.index));
                        continue;
                    }
                    let path = climb.take().and_then(Climb::path).ok_or_else(damaged)?;
                    return Ok(Proof {
                        body: body.ok_or_else(damaged)?,
                        path,
                        checkpoint: signed,
                    });
                }
                let mut rest = Bytes::new(frame.payload);
                while let Some(record) = RecordView::take(&mut rest) {
                    climb.as_mut().ok_or_else(damaged)?.push(*record.hash);
                    if record.index == location.index {
                        body = Some(record.body.to_owned());
                    }
                }
            }
        }
        Err(ProveError::NotYetSigned)
    }
}

impl Proof {
    /// Checks the proof with nothing but the public key.
    ///
    /// # Errors
    /// When it does not hold.
    pub fn verify(&self, key: &PublicKey) -> Result<Proved, BadProof> {
        if !self.checkpoint.is_signed_by(key) {
            return Err(BadProof::Signature);
        }
        let hash = record::hash_body(&self.body);
        let record = RecordView::parse(&self.body, &hash).ok_or(BadProof::Form)?;
        let stated = self.checkpoint.checkpoint();
        if tree::climb(&hash, record.index, stated.size, &self.path) != Some(stated.root) {
            return Err(BadProof::NotCovered);
        }
        Ok(Proved {
            index: record.index,
            chain: Chain::decode(record.chain).ok_or(BadProof::Form)?,
            seq: record.seq,
            at_ms: record.at_ms,
            hash,
            event: serde_json::from_slice(record.event).map_err(|_| BadProof::Form)?,
        })
    }

    /// The proof as JSON, to be sent or kept.
    #[must_use]
    pub fn to_json(&self) -> String {
        let form = ProofForm {
            v: record::FORMAT_VERSION,
            record: BASE64.encode(&self.body),
            path: self.path.iter().map(|hash| HEXLOWER.encode(hash)).collect(),
            checkpoint: BASE64.encode(&self.checkpoint.encode()),
        };
        // Texts only: there is nothing that could fail.
        serde_json::to_string(&form).unwrap_or_default()
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// When the text has another form.
    pub fn parse(json: &str) -> Result<Self, BadProof> {
        let form: ProofForm = serde_json::from_str(json).map_err(|_| BadProof::Form)?;
        let path = form
            .path
            .iter()
            .map(|hash| HEXLOWER.decode(hash.as_bytes()).ok()?.try_into().ok());
        let checkpoint = BASE64
            .decode(form.checkpoint.as_bytes())
            .map_err(|_| BadProof::Form)?;
        (form.v == record::FORMAT_VERSION)
            .then_some(())
            .ok_or(BadProof::Form)?;
        Ok(Self {
            body: BASE64
                .decode(form.record.as_bytes())
                .map_err(|_| BadProof::Form)?,
            path: path.collect::<Option<_>>().ok_or(BadProof::Form)?,
            checkpoint: SignedCheckpoint::parse(&checkpoint).ok_or(BadProof::Form)?,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProofForm {
    v: u8,
    record: String,
    path: Vec<String>,
    checkpoint: String,
}
