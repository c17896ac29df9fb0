//! Checksums that some providers put inside their tokens.
//!
//! A checksum that holds makes a finding certain. One that does not hold changes nothing: a token with a typing error
//! or of an older make is still worth hiding.

use serde::Deserialize;

/// Which checksum a token carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The last six characters are the CRC-32 of what stands between the prefix and them, in base 62.
    Crc32Base62,
}

impl Check {
    pub(super) fn holds(self, token: &[u8]) -> bool {
        match self {
            Self::Crc32Base62 => crc32_base62_holds(token),
        }
    }
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn crc32_base62_holds(token: &[u8]) -> bool {
    let Some(prefix) = token.iter().rposition(|&byte| byte == b'_') else {
        return false;
    };
    let body = token.get(prefix + 1..).unwrap_or_default();
    let Some((random, written)) = body.split_last_chunk::<6>() else {
        return false;
    };
    *written == base62(crc32fast::hash(random))
}

fn base62(mut number: u32) -> [u8; 6] {
    let mut digits = [b'0'; 6];
    for slot in digits.iter_mut().rev() {
        *slot = BASE62.get((number % 62) as usize).copied().unwrap_or(b'0');
        number /= 62;
    }
    digits
}

#[cfg(test)]
pub(super) fn with_crc32_base62(prefix: &str, random: &str) -> String {
    let digits = base62(crc32fast::hash(random.as_bytes()));
    format!("{prefix}_{random}{}", std::str::from_utf8(&digits).unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_character_breaks_the_checksum() {
        let token = with_crc32_base62("abc", "Zx81QmPq0aRt5WsYu7Hn2KdLc9VbEf");
        assert!(Check::Crc32Base62.holds(token.as_bytes()));
        let changed = token.replacen('Z', "Y", 1);
        assert!(!Check::Crc32Base62.holds(changed.as_bytes()));
        assert!(!Check::Crc32Base62.holds(b""));
        assert!(!Check::Crc32Base62.holds(b"abc_"));
    }
}
