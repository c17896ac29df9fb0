//! Whether an ID token is the provider's word about this person, for this gateway, now.
//!
//! The format and its times are `jsonwebtoken`'s; the signatures are checked by the cryptography that TLS uses here anyway. Only
//! signatures with a public key count: a shared secret or none at all would let others than the provider make tokens.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::jwk::{Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey, Header, Validation, decode,
    decode_header, get_current_timestamp,
};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Map, Value};

use crate::console::sign_ins::same;

/// How far two clocks may be apart, in seconds.
const LEEWAY_S: u64 = 60;
/// The longest token that is looked at.
const MOST_BYTES: usize = 64 * 1024;

/// What a token must say.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client: &'a str,
    pub(super) nonce: &'a str,
}

/// What is wrong with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::console) enum Fault {
    #[error("the token cannot be read")]
    Unreadable,
    #[error("the token is signed in a way that does not count here")]
    Algorithm,
    #[error("the token is signed with a key that the provider does not list")]
    UnknownKey,
    #[error("the token's signature is false")]
    Forged,
    #[error("the token has expired")]
    Expired,
    #[error("the token is from the future; compare the clocks")]
    Future,
    #[error("the token is from another provider")]
    Issuer,
    #[error("the token is for another application")]
    Audience,
    #[error("the token is not an answer to this sign-in")]
    Nonce,
}

/// Makes the check of signatures known to the library. Doing it again changes nothing.
pub(super) fn prepare() {
    let _ = PROVIDER.install_default();
}

/// Whether these keys are enough to look at this token. For one that is refused in any case they are.
pub(super) fn are_enough(token: &str, keys: &[Jwk]) -> bool {
    header_of(token).map_or(true, |header| key_for(&header, keys).is_some())
}

/// What the token says, if all of it is as expected.
pub(super) fn verified(
    token: &str,
    keys: &[Jwk],
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, Fault> {
    let header = header_of(token)?;
    let key = key_for(&header, keys).ok_or(Fault::UnknownKey)?;
    let key = DecodingKey::from_jwk(key).map_err(|_| Fault::UnknownKey)?;
    let mut validation = Validation::new(header.alg);
    validation.leeway = LEEWAY_S;
    validation.validate_nbf = true;
    validation.set_audience(&[expected.client]);
    validation.set_issuer(&[expected.issuer]);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    let claims = decode::<Map<String, Value>>(token, &key, &validation);
    let claims = claims.map_err(|error| fault(&error))?.claims;
    check_rest(&claims, expected)?;
    Ok(claims)
}

fn header_of(token: &str) -> Result<Header, Fault> {
    if token.len() > MOST_BYTES {
        return Err(Fault::Unreadable);
    }
    let header = decode_header(token).map_err(|error| match error.kind() {
        // The library knows no `none`: whoever writes it wants to go without a signature.
        ErrorKind::Json(_) => Fault::Algorithm,
        _ => Fault::Unreadable,
    })?;
    let counts = family(header.alg) != AlgorithmFamily::Hmac;
    // What must be understood to read the token is not understood here.
    let is_plain = header.crit.is_none() && header.enc.is_none() && header.zip.is_none();
    if counts && is_plain {
        Ok(header)
    } else {
        Err(Fault::Algorithm)
    }
}

fn key_for<'k>(header: &Header, keys: &'k [Jwk]) -> Option<&'k Jwk> {
    let mut fitting = keys.iter().filter(|key| fits(key, header.alg));
    match &header.kid {
        Some(kid) => fitting.find(|key| key.common.key_id.as_ref() == Some(kid)),
        // Without a name it must be clear which one is meant.
        None => fitting.next().filter(|_| fitting.next().is_none()),
    }
}

/// Whether a key is for signatures of this kind.
fn fits(key: &Jwk, algorithm: Algorithm) -> bool {
    let signs = key.common.public_key_use.as_ref();
    let signs = signs.is_none_or(|purpose| *purpose == PublicKeyUse::Signature);
    let named = key.common.key_algorithm;
    let is_named = named.is_none_or(|named| named == KeyAlgorithm::from(algorithm));
    let made = DecodingKey::from_jwk(key);
    signs && is_named && made.is_ok_and(|made| made.family() == family(algorithm))
}

/// What the library leaves to whoever uses it.
fn check_rest(claims: &Map<String, Value>, expected: &Expected<'_>) -> Result<(), Fault> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("iss") != Some(expected.issuer) {
        return Err(Fault::Issuer);
    }
    let is_for_several = matches!(claims.get("aud"), Some(Value::Array(all)) if all.len() > 1);
    let is_for_others = claims.contains_key("azp") && text("azp") != Some(expected.client);
    if is_for_others || (is_for_several && !claims.contains_key("azp")) {
        return Err(Fault::Audience);
    }
    let issued = claims
        .get("iat")
        .and_then(Value::as_f64)
        .ok_or(Fault::Unreadable)?;
    let latest = get_current_timestamp().saturating_add(LEEWAY_S);
    if issued > latest as f64 {
        return Err(Fault::Future);
    }
    if text("nonce").is_some_and(|nonce| same(nonce, expected.nonce)) {
        Ok(())
    } else {
        Err(Fault::Nonce)
    }
}

fn fault(error: &Error) -> Fault {
    match error.kind() {
        ErrorKind::InvalidSignature => Fault::Forged,
        ErrorKind::ExpiredSignature => Fault::Expired,
        ErrorKind::ImmatureSignature => Fault::Future,
        ErrorKind::InvalidIssuer => Fault::Issuer,
        ErrorKind::InvalidAudience => Fault::Audience,
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidKeyFormat => Fault::Algorithm,
        _ => Fault::Unreadable,
    }
}

fn family(algorithm: Algorithm) -> AlgorithmFamily {
    match algorithm {
        Algorithm::RS256
        | Algorithm::RS384
        | Algorithm::RS512
        | Algorithm::PS256
        | Algorithm::PS384
        | Algorithm::PS512 => AlgorithmFamily::Rsa,
        Algorithm::ES256 | Algorithm::ES384 => AlgorithmFamily::Ec,
        Algorithm::EdDSA => AlgorithmFamily::Ed,
        // Also whatever the library learns later: it is refused with the shared secrets.
        _ => AlgorithmFamily::Hmac,
    }
}

/// The check of signatures, for the library.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(ErrorKind::InvalidKeyFormat.into()),
        rsa_pub_components_from_public_key: |_| Err(ErrorKind::InvalidKeyFormat.into()),
        ec_pub_components_from_private_key: |_, _| Err(ErrorKind::InvalidKeyFormat.into()),
        ed_pub_components_from_private_key: |_, _| Err(ErrorKind::InvalidKeyFormat.into()),
        compute_digest: |_, _| Err(ErrorKind::InvalidKeyFormat.into()),
    },
};

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    Err(ErrorKind::InvalidAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    if key.family() != family(*algorithm) {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    let (algorithm, key) = (*algorithm, key.clone());
    Ok(Box::new(Signed { algorithm, key }))
}

struct Signed {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtVerifier for Signed {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for Signed {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> Result<(), signature::Error> {
        let holds = match self.algorithm {
            Algorithm::RS256 => self.rsa(&RSA_PKCS1_2048_8192_SHA256, message, signed),
            Algorithm::RS384 => self.rsa(&RSA_PKCS1_2048_8192_SHA384, message, signed),
            Algorithm::RS512 => self.rsa(&RSA_PKCS1_2048_8192_SHA512, message, signed),
            Algorithm::PS256 => self.rsa(&RSA_PSS_2048_8192_SHA256, message, signed),
            Algorithm::PS384 => self.rsa(&RSA_PSS_2048_8192_SHA384, message, signed),
            Algorithm::PS512 => self.rsa(&RSA_PSS_2048_8192_SHA512, message, signed),
            Algorithm::ES256 => self.curve(&ECDSA_P256_SHA256_FIXED, message, signed),
            Algorithm::ES384 => self.curve(&ECDSA_P384_SHA384_FIXED, message, signed),
            Algorithm::EdDSA => self.curve(&ED25519, message, signed),
            _ => false,
        };
        if holds {
            Ok(())
        } else {
            Err(signature::Error::new())
        }
    }
}

impl Signed {
    fn rsa(&self, how: &'static RsaParameters, message: &[u8], signed: &[u8]) -> bool {
        match self.key.kind() {
            DecodingKeyKind::RsaModulusExponent { n, e } => RsaPublicKeyComponents { n, e }
                .verify(how, message, signed)
                .is_ok(),
            DecodingKeyKind::SecretOrDer(_) => false,
        }
    }

    fn curve(&self, how: &'static dyn VerificationAlgorithm, message: &[u8], signed: &[u8]) -> bool {
        match self.key.kind() {
            DecodingKeyKind::SecretOrDer(point) => {
                UnparsedPublicKey::new(how, point).verify(message, signed).is_ok()
            }
            DecodingKeyKind::RsaModulusExponent { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use proptest::prelude::*;
    use serde_json::json;

    const EXPECTED: Expected<'_> = Expected {
        issuer: "https://login.example",
        client: "tidegate",
        nonce: "n",
    };

    /// A key of each kind, all of one name, and some that are of no use.
    fn keys() -> Vec<Jwk> {
        let wide = URL_SAFE_NO_PAD.encode([0xc5u8; 256]);
        let narrow = URL_SAFE_NO_PAD.encode([7u8; 32]);
        let keys = [
            json!({"kty": "RSA", "kid": "k", "n": wide, "e": "AQAB"}),
            json!({"kty": "EC", "kid": "k", "crv": "P-256", "x": narrow, "y": narrow}),
            json!({"kty": "OKP", "kid": "k", "crv": "Ed25519", "x": narrow}),
            json!({"kty": "oct", "kid": "k", "k": narrow}),
            json!({"kty": "RSA", "kid": "k", "use": "enc", "n": wide, "e": "AQAB"}),
        ];
        keys.map(|key| serde_json::from_value(key).unwrap()).to_vec()
    }

    proptest! {
        /// Whatever a provider hands out: it is refused and nothing breaks.
        #[test]
        fn nothing_counts_that_nobody_signed(
            text in "\\PC{0,120}",
            alg in prop::sample::select(vec!["RS256", "PS512", "ES256", "ES384", "EdDSA", "HS256", "none", ""]),
            kid in prop::option::of(prop::sample::select(vec!["k", "x"])),
            signature in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            prepare();
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let header = part(&json!({"alg": alg, "kid": kid}));
            let claims = part(&json!({
                "iss": EXPECTED.issuer, "aud": EXPECTED.client, "nonce": EXPECTED.nonce, "sub": "ada",
                "iat": 1, "exp": 4_000_000_000u32,
            }));
            let made = format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(signature));
            for token in [text.as_str(), &made, &format!("{header}.{text}"), &format!("{header}.{claims}.{text}")] {
                are_enough(token, &keys());
                prop_assert!(verified(token, &keys(), &EXPECTED).is_err());
            }
        }
    }

    #[test]
    fn a_key_is_for_what_it_says() {
        let keys = keys();
        let named = |alg: &str, kid: Option<&str>| {
            let header = URL_SAFE_NO_PAD.encode(json!({"alg": alg, "kid": kid}).to_string());
            let header = header_of(&format!("{header}.e30.e30"))?;
            key_for(&header, &keys)
                .map(|key| key.algorithm.clone())
                .ok_or(Fault::UnknownKey)
        };
        for (alg, kid, expected) in [
            ("RS256", Some("k"), Ok(0)),
            ("PS384", None, Ok(0)),
            ("ES256", Some("k"), Ok(1)),
            ("EdDSA", Some("k"), Ok(2)),
            ("RS256", Some("x"), Err(Fault::UnknownKey)),
            ("HS256", Some("k"), Err(Fault::Algorithm)),
            ("none", Some("k"), Err(Fault::Algorithm)),
        ] {
            let expected = expected.map(|place: usize| keys[place].algorithm.clone());
            assert_eq!(named(alg, kid), expected, "{alg} {kid:?}");
        }
    }
}
