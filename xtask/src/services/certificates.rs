//! Certificates for servers behind TLS, of authorities that nobody else trusts.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// An authority, and the file that its certificate is in.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// What a client is told to trust.
    pub file: PathBuf,
}

/// The files of a server's certificate and key.
pub struct Certified {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Authority {
    /// A new one, with its certificate as `name` in `directory`.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn new(directory: &Path, name: &str) -> Result<Self, String> {
        let made = || {
            let mut params = CertificateParams::new(Vec::new())?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            CertifiedIssuer::self_signed(params, KeyPair::generate()?)
        };
        let issuer = made().map_err(|error: rcgen::Error| format!("no certificate: {error}"))?;
        let file = directory.join(name);
        write(&file, &issuer.pem())?;
        Ok(Self { issuer, file })
    }

    /// A certificate for this machine, with its files in `directory`.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn certify(&self, directory: &Path) -> Result<Certified, String> {
        let made = || {
            let key = KeyPair::generate()?;
            let params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok((certificate.pem(), key.serialize_pem()))
        };
        let (certificate, key) = made().map_err(|error: rcgen::Error| format!("no certificate: {error}"))?;
        let files = Certified {
            certificate: directory.join("server.pem"),
            key: directory.join("server.key"),
        };
        write(&files.certificate, &certificate)?;
        write(&files.key, &key)?;
        Ok(files)
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
