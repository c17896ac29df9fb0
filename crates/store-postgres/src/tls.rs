//! TLS: the server must show a certificate for its name, signed by someone the system or the operator trusts.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tidegate_store::StoreError;
use tokio_postgres_rustls::MakeRustlsConnect;

pub(crate) fn connector(ca_file: Option<&Path>) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(path) => {
            for certificate in read(path)? {
                roots
                    .add(certificate)
                    .map_err(|_| unusable("holds a certificate that cannot be used"))?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| unusable("cannot be used with this build's TLS"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match certificates {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(unusable("holds no certificate")),
        Err(_) => Err(unusable("cannot be read as PEM")),
    }
}

fn unusable(why: &str) -> StoreError {
    StoreError::Backend(format!("the store's ca_file {why}"))
}
