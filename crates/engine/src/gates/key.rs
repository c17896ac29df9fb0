//! The key under which questions are remembered: whoever reads the store cannot try out arguments against it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tidegate_store::{Binding, GateKind};
use zeroize::Zeroizing;

use crate::origin::OriginKey;

/// The key of all bindings of one state.
pub(super) struct GateKey(Zeroizing<[u8; 64]>);

impl From<&OriginKey> for GateKey {
    fn from(key: &OriginKey) -> Self {
        // HMAC fills a key up with zeros to the hash's block.
        let mut block = Zeroizing::new([0; 64]);
        for (to, from) in block.iter_mut().zip(key.for_purpose(b"tidegate-gates-v1").iter()) {
            *to = *from;
        }
        Self(block)
    }
}

impl GateKey {
    /// What a question is bound to. Each part is preceded by its length, so that no two questions read the same.
    pub(super) fn bind(&self, kind: GateKind, parts: &[&[u8]]) -> Binding {
        let mut mac = Hmac::<Sha256>::new((&*self.0).into());
        for part in [kind.as_str().as_bytes()].iter().chain(parts) {
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            mac.update(part);
        }
        Binding(mac.finalize().into_bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_question_is_bound_otherwise() {
        let key = GateKey::from(&OriginKey::fixed());
        let bind = |parts: &[&[u8]]| key.bind(GateKind::ToolApproval, parts);
        let one = bind(&[b"s-1", b"send", b"{}"]);
        assert_eq!(one, bind(&[b"s-1", b"send", b"{}"]));
        for parts in [
            &[b"s-1".as_slice(), b"send", b"{\"a\":1}"],
            &[b"s-2", b"send", b"{}"],
            &[b"s-1s", b"end", b"{}"],
        ] {
            assert_ne!(one, bind(parts));
        }
        let other_kind = key.bind(GateKind::PiiLeakRisk, &[b"s-1", b"send", b"{}"]);
        assert_ne!(one, other_kind);
    }
}
