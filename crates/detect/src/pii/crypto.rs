//! Addresses of crypto currencies, by their own checksums.

use std::ops::Range;

use super::rule::{PiiRule, Sink};

pub(crate) static CRYPTO: PiiRule = PiiRule::personal(
    "crypto-address",
    "a Bitcoin or Ethereum address",
    "Base58Check, Bech32, or the prefix and length of an Ethereum address",
);

/// Decides about one whole word.
pub(crate) fn check(text: &[u8], word: Range<usize>, sink: &mut Sink<'_>) {
    let Some(written) = text
        .get(word.clone())
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
    else {
        return;
    };
    let sure = match written.as_bytes() {
        [b'0', b'x', digits @ ..] if digits.len() == 40 && digits.iter().all(u8::is_ascii_hexdigit) => 80,
        [b'1' | b'3', ..] if (26..=35).contains(&written.len()) && is_base58check(written) => 98,
        [b'b' | b'B', b'c' | b'C', b'1', ..] if is_bech32(written) => 98,
        _ => return,
    };
    sink.push(&CRYPTO, word, sure);
}

fn is_base58check(written: &str) -> bool {
    let mut decoded = [0; 32];
    bs58::decode(written)
        .with_check(None)
        .onto(&mut decoded)
        .is_ok_and(|length| length == 21)
}

fn is_bech32(written: &str) -> bool {
    bech32::segwit::decode(written).is_ok()
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn checksums_decide() {
        let genesis = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        check(genesis, &[("crypto-address", genesis)]);
        check("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", &[]);
        let segwit = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
        check(segwit, &[("crypto-address", segwit)]);
        check("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", &[]);
        let ether = "0x52908400098527886E0F7030069857D2E4169EE7";
        check(ether, &[("crypto-address", ether)]);
        check("0x52908400098527886E0F7030069857D2E4169EE7aa", &[]);
    }
}
