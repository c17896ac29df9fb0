//! The local authority that certificates for opened tunnels come from.
//!
//! Where a destination asks to be looked into, the proxy answers TLS itself, with a certificate for that host that it signs with
//! a key of its own. The key lies in the data directory for its owner alone and never leaves it; whoever is to use the proxy
//! for such destinations is given the authority's certificate (`tidegate egress ca`). Nothing else trusts it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tidegate_engine::egress::Host;

/// The file in the data directory that holds the key and the certificate.
const FILE: &str = "egress-ca.pem";

/// The most certificates that are kept.
const MOST_KEPT: usize = 1_024;

/// How long a certificate is used before another is made.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3_600);

/// The largest file that is read.
const MOST_BYTES: u64 = 64 * 1024;

/// Why there is no authority. The key is never part of it.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// Others than its owner may read or write it.
    #[error("egress-ca.pem is open to others: allow its owner alone (chmod 600)")]
    OpenToOthers,
    /// It is not what was written there.
    #[error("egress-ca.pem does not hold a key and a certificate; move it away to have another made")]
    NotAnAuthority,
    /// None could be made.
    #[error("no key and certificate could be made for opened tunnels")]
    Unmade,
    /// The system refused.
    #[error("egress-ca.pem cannot be used: {0}")]
    Io(io::ErrorKind),
}

impl From<io::Error> for AuthorityError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.kind())
    }
}

/// The authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    /// One key for every host: what a certificate says is the host's name.
    key: KeyPair,
    kept: Mutex<HashMap<Host, (Instant, Arc<ServerConfig>)>>,
}

impl Authority {
    /// The authority of a data directory; made on first use, for its owner alone. Of processes that make it at once, one
    /// wins.
    ///
    /// # Errors
    /// When it cannot be made or read, or is open to others.
    pub fn in_directory(directory: &Path) -> Result<Self, AuthorityError> {
        let path = directory.join(FILE);
        match read(&path) {
            Err(AuthorityError::Io(io::ErrorKind::NotFound)) => {
                make_durably(&path)?;
                read(&path)
            }
            read => read,
        }
    }

    /// The certificate that clients are to trust.
    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.pem
    }

    /// How the proxy speaks TLS as a host.
    pub(super) fn as_host(&self, host: &Host) -> Result<Arc<ServerConfig>, AuthorityError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, config)) = kept.get(host)
            && made.elapsed() < KEPT_FOR
        {
            return Ok(Arc::clone(config));
        }
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        let config = Arc::new(self.config(host)?);
        kept.insert(host.clone(), (Instant::now(), Arc::clone(&config)));
        Ok(config)
    }

    fn config(&self, host: &Host) -> Result<ServerConfig, AuthorityError> {
        let unmade = |_| AuthorityError::Unmade;
        let name = match host {
            Host::Name(name) => name.clone(),
            Host::Address(address) => address.to_string(),
        };
        let mut params = CertificateParams::new(vec![name]).map_err(unmade)?;
        params.distinguished_name.remove(DnType::CommonName);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        live_for(&mut params, 30)?;
        let leaf = params.signed_by(&self.key, &self.issuer).map_err(unmade)?;
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|_| AuthorityError::Unmade)?.with_no_client_auth();
        let chain = vec![leaf.der().clone(), self.certificate.clone()];
        let mut config = builder
            .with_single_cert(chain, PrivateKeyDer::Pkcs8(key))
            .map_err(|_| AuthorityError::Unmade)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn read(path: &Path) -> Result<Authority, AuthorityError> {
    let file = File::open(path)?;
    if file.metadata()?.mode() & 0o077 != 0 {
        return Err(AuthorityError::OpenToOthers);
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    let none = |_| AuthorityError::NotAnAuthority;
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| AuthorityError::NotAnAuthority)?;
    let key = KeyPair::try_from(&key).map_err(none)?;
    let certificate =
        CertificateDer::from_pem_slice(text.as_bytes()).map_err(|_| AuthorityError::NotAnAuthority)?;
    let begins = text
        .find("-----BEGIN CERTIFICATE-----")
        .ok_or(AuthorityError::NotAnAuthority)?;
    Ok(Authority {
        issuer: Issuer::new(own_params()?, key),
        certificate,
        pem: text.get(begins..).unwrap_or_default().to_owned(),
        key: KeyPair::generate().map_err(|_| AuthorityError::Unmade)?,
        kept: Mutex::default(),
    })
}

/// Written beside and linked into place, so that the file is there whole or not at all.
fn make_durably(path: &Path) -> Result<(), AuthorityError> {
    let unmade = |_| AuthorityError::Unmade;
    let key = KeyPair::generate().map_err(unmade)?;
    let mut params = own_params()?;
    live_for(&mut params, 3_650)?;
    let certificate = params.self_signed(&key).map_err(unmade)?;
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(|_| AuthorityError::Unmade)?;
    let fresh = path.with_extension(format!("{:016x}", u64::from_ne_bytes(name)));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)?;
    let text = key.serialize_pem() + &certificate.pem();
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| std::fs::hard_link(&fresh, path));
    std::fs::remove_file(&fresh)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty());
    Ok(File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?)
}

/// What the authority says of itself; its lifetime aside, the same each time.
fn own_params() -> Result<CertificateParams, AuthorityError> {
    let mut params = CertificateParams::new(Vec::new()).map_err(|_| AuthorityError::Unmade)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
        .distinguished_name
        .push(DnType::CommonName, "Tidegate egress");
    Ok(params)
}

/// From yesterday, for clocks that are late, for so many days.
fn live_for(params: &mut CertificateParams, days: i64) -> Result<(), AuthorityError> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC);
    let on = |days: i64| {
        let day = today.checked_add(Span::new().try_days(days).ok()?).ok()?;
        let (month, date) = (u8::try_from(day.month()).ok()?, u8::try_from(day.day()).ok()?);
        Some(rcgen::date_time_ymd(i32::from(day.year()), month, date))
    };
    let (from, until) = on(-1).zip(on(days)).ok_or(AuthorityError::Unmade)?;
    (params.not_before, params.not_after) = (from, until);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn an_authority_is_made_once_and_is_its_owners_alone() {
        let directory = tempfile::tempdir().unwrap();
        let pem = |directory: &Path| Authority::in_directory(directory).map(|authority| authority.pem);
        let first = pem(directory.path()).unwrap();
        assert!(first.starts_with("-----BEGIN CERTIFICATE-----") && !first.contains("PRIVATE"));
        assert_eq!(pem(directory.path()).unwrap(), first);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        let file = directory.path().join(FILE);
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(pem(directory.path()), Err(AuthorityError::OpenToOthers)));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&file, "nothing of the sort").unwrap();
        assert!(matches!(
            pem(directory.path()),
            Err(AuthorityError::NotAnAuthority)
        ));
    }
}
