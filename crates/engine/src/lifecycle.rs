//! What the record says of the gateway itself: it started, under which policy, and it stopped.

use tidegate_ledger::event::{Event, GatewayStarted, GatewayStopped, PolicyChanged};
use tidegate_ledger::{Filter, PublicDigest, ReadError, Reader};

use crate::engine::now;
use crate::provenance::word;
use crate::{Engine, RecordError};

impl Engine {
    /// Records that the gateway starts, what was destroyed before and is not recorded, and that its policy is another than
    /// before when it is. `previous` is what [`last_policy`] found.
    ///
    /// # Errors
    /// When it cannot be recorded; the gateway must not start then.
    pub async fn started(&self, previous: Option<PublicDigest>) -> Result<(), RecordError> {
        let digest = self.policy.digest;
        let version = word(env!("CARGO_PKG_VERSION"));
        self.provenance
            .note_gateway(
                GatewayStarted {
                    version,
                    policy_digest: digest,
                }
                .into(),
                now(),
            )
            .await?;
        self.record_destroyed().await?;
        if previous == Some(digest) {
            return Ok(());
        }
        let policy_version = tidegate_ledger::Name::or_unnameable(self.policy.version.as_str());
        let changed = PolicyChanged {
            digest,
            previous,
            policy_version,
            by: word("configuration"),
        };
        self.provenance.note_gateway(changed.into(), now()).await
    }

    /// Records that the gateway stops in order.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub async fn stopped(&self, cause: &'static str) -> Result<(), RecordError> {
        self.provenance
            .note_gateway(GatewayStopped { cause: word(cause) }.into(), now())
            .await
    }
}

/// The policy that was last recorded in this ledger.
///
/// # Errors
/// When the ledger cannot be read.
pub fn last_policy(reader: &Reader) -> Result<Option<PublicDigest>, ReadError> {
    let filter = Filter {
        event: Some("policy_changed".to_owned()),
        ..Filter::default()
    };
    let (mut last, mut after) = (None, None);
    loop {
        let page = reader.page(&filter, after, 1_000)?;
        for record in page.records {
            if let Some(Event::PolicyChanged(changed)) = record.event() {
                last = Some(changed.digest);
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(last);
        }
    }
}
