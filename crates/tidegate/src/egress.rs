//! From a checked configuration to a proxy.

use std::net::SocketAddr;
use std::sync::Arc;

use tidegate_engine::Engine;
use tidegate_engine::egress::EgressKey;
use tidegate_gateway::egress::{Authority, Interception, Proxy, Settings, SystemResolver};
use tidegate_store::TokenStore;
use tokio::net::TcpListener;

use crate::config::Config;
use crate::failure::Failure;

/// The file in the data directory that holds the key of the credentials.
const KEY_FILE: &str = "egress.key";

/// The proxy and the address it listens at, where the configuration asks for one.
pub(crate) async fn open(
    config: &Config,
    engine: &Arc<Engine>,
    tokens: Arc<dyn TokenStore>,
    gateway: SocketAddr,
) -> Result<Option<(Proxy, TcpListener)>, Failure> {
    let Some(listen) = config.egress.listen else {
        return Ok(None);
    };
    let refused = |error| {
        Failure::environment(format_args!(
            "cannot listen on {listen}: {error}; name another address as egress.listen"
        ))
    };
    let listener = TcpListener::bind(listen).await.map_err(refused)?;
    let own = listener.local_addr().map_err(refused)?;
    let proxy = proxy(config, engine, Some(tokens), vec![gateway, own])?;
    Ok(Some((proxy, listener)))
}

/// A proxy for sessions that come in at listeners of their own and show no credential. `own` is where the gateway itself
/// listens: no connection leads there.
pub(crate) fn proxy_of_bound(
    config: &Config,
    engine: &Arc<Engine>,
    own: Vec<SocketAddr>,
) -> Result<Proxy, Failure> {
    proxy(config, engine, None, own)
}

fn proxy(
    config: &Config,
    engine: &Arc<Engine>,
    tokens: Option<Arc<dyn TokenStore>>,
    own: Vec<SocketAddr>,
) -> Result<Proxy, Failure> {
    let key = EgressKey::in_file(&config.data_dir.join(KEY_FILE))
        .map_err(|error| Failure::environment(format_args!("{KEY_FILE}: {error}")))?;
    let destinations = config.egress.destinations.clone();
    let interception = if destinations.want_interception() {
        let authority = Arc::new(authority(config)?);
        let roots = config.egress.ca_file.as_deref();
        let opened = Interception::new(authority, roots);
        Some(opened.map_err(|error| Failure::environment(format_args!("egress.ca_file: {error}")))?)
    } else {
        None
    };
    let settings = Settings {
        destinations,
        key,
        tokens,
        bounds: config.egress.bounds.clone(),
        own,
        resolver: Arc::new(SystemResolver),
        interception,
    };
    Ok(Proxy::new(Arc::clone(engine), settings))
}

/// The authority of opened tunnels.
pub(crate) fn authority(config: &Config) -> Result<Authority, Failure> {
    Authority::in_directory(&config.data_dir).map_err(Failure::environment)
}
