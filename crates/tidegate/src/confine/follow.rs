//! From a session's label to a flow.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Class, Ident};
use tidegate_engine::{Caller, Engine};
use tidegate_sandbox::Flow;
use tokio::sync::watch;

use super::way::flow_of;

/// How often a session is looked at for changes made by other processes.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The flow of a session, if `highest` is the most that any destination may be given. A session that is halted, cannot be
/// read or is not the caller's has none. It ends when nobody listens any more.
pub(super) async fn follow(
    engine: Arc<Engine>,
    caller: Caller,
    id: Ident,
    highest: Option<Class>,
) -> watch::Receiver<Flow> {
    let flow = look(&engine, &caller, &id, highest).await;
    let (tell, flow) = watch::channel(flow);
    tokio::spawn(async move {
        if let Ok(mut changes) = engine.watch(&caller, &id).await {
            while !tell.is_closed() && look(&engine, &caller, &id, highest).await == Flow::Open {
                // Either a change here, or time to look for one made elsewhere.
                let _ = tokio::time::timeout(LOOK_EVERY, changes.changed()).await;
            }
        }
        tell.send_replace(Flow::Shut);
    });
    flow
}

async fn look(engine: &Engine, caller: &Caller, id: &Ident, highest: Option<Class>) -> Flow {
    match engine.context(caller, id).await {
        Ok(view) => {
            let context = &view.session.context;
            flow_of(context.label().class(), context.halted().is_some(), highest)
        }
        Err(_) => Flow::Shut,
    }
}
