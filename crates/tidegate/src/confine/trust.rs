//! What programs inside must trust, where the proxy opens tunnels to look into them.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use tempfile::NamedTempFile;
use tidegate_sandbox::Room;

use crate::config::Config;
use crate::egress;
use crate::failure::Failure;

/// Where systems keep the certificates that everybody trusts.
const SYSTEM: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// The variables by which libraries find them.
const VARIABLES: [&str; 5] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
];

/// A file with what the system trusts and the proxy's own authority, for as long as it is held.
pub(super) struct Trust(Option<NamedTempFile>);

impl Trust {
    /// Nothing is needed where no tunnel is opened.
    pub(super) fn of(config: &Config) -> Result<Self, Failure> {
        if !config.egress.destinations.want_interception() {
            return Ok(Self(None));
        }
        let own = egress::authority(config)?;
        let system = SYSTEM.iter().find_map(|path| fs::read(path).ok());
        let mut file = NamedTempFile::with_prefix("tidegate-ca-").map_err(Failure::environment)?;
        file.write_all(&system.unwrap_or_default())
            .and_then(|()| file.write_all(own.certificate_pem().as_bytes()))
            .and_then(|()| file.flush())
            .map_err(Failure::environment)?;
        Ok(Self(Some(file)))
    }

    /// The room with it.
    pub(super) fn in_room(&self, room: Room) -> Room {
        let Some(file) = &self.0 else { return room };
        let path: PathBuf = file.path().to_owned();
        let room = room.with_readable([path.clone()]);
        VARIABLES
            .iter()
            .fold(room, |room, name| room.with_variable(name, &path))
    }
}
