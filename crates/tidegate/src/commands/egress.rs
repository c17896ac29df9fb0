//! `tidegate egress`: what clients of the egress proxy need.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;

use clap::{Args, Subcommand};

use crate::egress::authority;
use crate::failure::Failure;
use crate::source::Places;
use crate::terminal::answer;

/// Show what clients of the egress proxy need
#[derive(Args, Debug)]
pub(crate) struct Egress {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Print the certificate that clients trust where tunnels are opened (scan = true)
    ///
    /// It is made on first use, with a key that stays in the data directory. Give it to what runs behind the proxy and to
    /// nobody else: SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or NODE_EXTRA_CA_CERTS name a file of certificates.
    Ca {
        #[command(flatten)]
        places: Places,
    },
}

impl Egress {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Verb::Ca { places } = self.verb;
        let config = places.load(None)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&config.data_dir)
            .map_err(|error| Failure::environment(format_args!("cannot use the data directory: {error}")))?;
        answer(authority(&config)?.certificate_pem().trim_end())
    }
}
