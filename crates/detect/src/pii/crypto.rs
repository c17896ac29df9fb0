//! Addresses of crypto currencies, by their own checksums.

use std::ops::Range;

use super::rule::{PiiRule, Sink};

pub(crate) static CRYPTO: PiiRule = PiiRule::personal(
    "crypto-address",
    "an address of Bitcoin, Litecoin, Dogecoin, Tron, Ripple or Ethereum",
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
        [b'1' | b'3' | b'L' | b'M' | b'D' | b'T', ..] if is_base58check(written, bs58::Alphabet::DEFAULT) => {
            98
        }
        [b'r', ..] if is_base58check(written, bs58::Alphabet::RIPPLE) => 98,
        [b'b' | b'B', b'c' | b'C', b'1', ..] if is_bech32(written) => 98,
        _ => return,
    };
    sink.push(&CRYPTO, word, sure);
}

fn is_base58check(written: &str, alphabet: &bs58::Alphabet) -> bool {
    let mut decoded = [0; 32];
    (26..=35).contains(&written.len())
        && bs58::decode(written)
            .with_alphabet(alphabet)
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
        let tron = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8";
        check(tron, &[("crypto-address", tron)]);
        check("TJRabPrwbZy45sbavfcjinPJC18kjpRTv9", &[]);
        let ripple = "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh";
        check(ripple, &[("crypto-address", ripple)]);
        check("rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLi", &[]);
        let segwit = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
        check(segwit, &[("crypto-address", segwit)]);
        check("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", &[]);
        let ether = "0x52908400098527886E0F7030069857D2E4169EE7";
        check(ether, &[("crypto-address", ether)]);
        check("0x52908400098527886E0F7030069857D2E4169EE7aa", &[]);
    }
}
