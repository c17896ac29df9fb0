//! The gateway's own connectors, for every wire: one use case that decides, fetches and lets in.
//!
//! A connector's tool stands in the control list like any other, so whoever lists, plans or explains needs to know nothing
//! of connectors. Only the call differs: the gateway makes it itself, between the same two steps.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tidegate_connect::{Brought, Connector, Failure, Offer, Touched};
use tidegate_core::{Decision, FieldClasses, Ident, Name, Refusal, Tool};
use tidegate_engine::{
    AccessError, Bringing, Caller, Catalogued, DeliverError, Delivered, Engine, Form, Opening, Payload,
    VeilError,
};
use tidegate_store::{Gate, ReviewCause, Session};

use crate::mcp::{Definition, Kind, Object, Owed, Pins, Standing, digest, said};

/// The tools of the connectors.
#[derive(Default)]
pub struct Connectors {
    tools: HashMap<Name, (Arc<dyn Connector>, Offer)>,
    /// In the order of the configuration.
    order: Vec<Name>,
    /// The names of the connectors that have tools, in that order.
    sources: Vec<Name>,
    /// The tools that somebody is to be asked about, because they speak in words of others that are new or changed.
    asking: Vec<Asking>,
}

/// A tool that somebody is to be asked about.
struct Asking {
    name: Name,
    connector: String,
    /// As the connector calls it.
    tool: String,
    owed: Owed,
}

/// Why connectors cannot be used together.
#[derive(Debug, thiserror::Error)]
pub enum ConnectorsError {
    /// Two tools have one name.
    #[error("two connectors offer a tool \"{0}\"")]
    Duplicate(Name),
    /// A tool's name is none.
    #[error("the connector \"{0}\" offers a tool whose name cannot be one")]
    BadName(String),
    /// What was seen of tools before cannot be read.
    #[error("the definitions that were seen before cannot be read: {0}")]
    Pins(#[from] std::io::Error),
}

/// A call to a connector's tool.
pub(crate) struct Call {
    /// The tool.
    pub(crate) tool: Name,
    /// Its arguments.
    pub(crate) arguments: Value,
    /// Whether the answer is to be sealed.
    pub(crate) seal: bool,
}

/// A call that was made.
pub(crate) struct Called {
    /// The session as the decision saw it.
    pub(crate) before: Arc<Session>,
    /// What let it pass, and the gate where a person did.
    pub(crate) passed: (&'static str, Option<Gate>),
    /// What the agent may see.
    pub(crate) delivered: Delivered,
}

/// Why a call gave nothing.
#[derive(Debug)]
pub(crate) enum CallError {
    /// No connector has such a tool.
    Unknown,
    /// No decision can be made.
    Access(AccessError),
    /// The rules deny it.
    Denied(Box<Refusal>),
    /// A person must decide first, at this gate.
    Held(Box<Refusal>, Option<Box<Gate>>),
    /// Its stubs and handles cannot be resolved.
    Veil(VeilError),
    /// The source gave nothing.
    Source(Failure),
    /// What it gave cannot be let in.
    Deliver(DeliverError),
}

impl Connectors {
    /// Connectors by the names of their tools, `connector.tool`.
    ///
    /// # Errors
    /// When two tools have one name, or one has none.
    pub fn new(connectors: impl IntoIterator<Item = Arc<dyn Connector>>) -> Result<Self, ConnectorsError> {
        let mut all = Self::default();
        for connector in connectors {
            let bad = |_| ConnectorsError::BadName(connector.name().to_owned());
            if !connector.offers().is_empty() {
                all.sources.push(Name::parse(connector.name()).map_err(bad)?);
            }
            for offer in connector.offers() {
                let name = format!("{}.{}", connector.name(), offer.tool);
                let name = Name::parse(&name).map_err(bad)?;
                let entry = (Arc::clone(&connector), offer.clone());
                if all.tools.insert(name.clone(), entry).is_some() {
                    return Err(ConnectorsError::Duplicate(name));
                }
                all.order.push(name);
            }
        }
        Ok(all)
    }

    /// Leaves out tools that speak in words of others which changed since they were first seen, or which give orders.
    /// Gives back their names.
    ///
    /// # Errors
    /// When what was seen before cannot be read; then nothing is trusted.
    pub async fn keep_trusted(
        mut self,
        engine: &Engine,
        pins: &Pins,
    ) -> Result<(Self, Vec<Name>), ConnectorsError> {
        let mut held = Vec::new();
        for (name, (connector, offer)) in &self.tools {
            if !connector.speaks_for_others() {
                continue;
            }
            let words = offer.definition(&offer.tool);
            let object = Object::read(&crate::mcp::raw(&words));
            let gives_orders = engine
                .gives_orders(name, &Payload::new(words))
                .await
                .unwrap_or(true);
            let definition = Definition {
                kind: Kind::Tool,
                name: offer.tool.clone(),
                digest: object
                    .and_then(|object| said(Kind::Tool, &object))
                    .map(|said| digest(&said))
                    .unwrap_or_default(),
                gives_orders,
            };
            let (checked, owed) = pins.check_owing(connector.name(), &definition)?;
            self.asking.extend(owed.map(|owed| Asking {
                name: name.clone(),
                connector: connector.name().to_owned(),
                tool: offer.tool.clone(),
                owed,
            }));
            if checked.standing != Standing::Trusted {
                held.push(name.clone());
            }
        }
        held.sort();
        self.order.retain(|name| !held.contains(name));
        self.tools.retain(|name, _| !held.contains(name));
        Ok((self, held))
    }

    /// Has somebody look at the classes of what is new: a connector, and a tool that a known connector has since now; and of
    /// tools that became others. What cannot be asked now is asked at the next start.
    pub async fn open_reviews(&self, engine: &Engine, pins: &Pins) {
        for source in &self.sources {
            let opened = engine.review_class(ReviewCause::NewConnector, source).await;
            let mut asked = Vec::new();
            for asking in &self.asking {
                if asking.connector == source.as_str() && asking.ask(engine, opened).await {
                    asked.push(asking.tool.as_str());
                }
            }
            if let Err(error) = pins.has_asked(source.as_str(), &asked) {
                tracing::error!(kind = %error.kind(), "that reviews of tools were opened could not be noted");
            }
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// What the rules know of them, beside those of these names that somebody declared already.
    pub fn tools(&self) -> impl Iterator<Item = Tool> {
        let offered = self
            .order
            .iter()
            .filter_map(|name| self.tools.get_key_value(name));
        offered.map(|(name, (_, offer))| offer.to_tool(name.clone()))
    }

    /// Whether a tool is a connector's.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// The tools as MCP defines them.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = (&Name, Value)> {
        let offered = self
            .order
            .iter()
            .filter_map(|name| self.tools.get_key_value(name));
        offered.map(|(name, (_, offer))| (name, offer.definition(name.as_str())))
    }

    /// Calls a tool if the rules let it, and lets the answer in: what is given back is what the agent may see.
    pub(crate) async fn call(
        &self,
        engine: &Engine,
        caller: &Caller,
        id: &Ident,
        call: Call,
    ) -> Result<Called, CallError> {
        let Call {
            tool,
            arguments,
            seal,
        } = call;
        let (connector, offer) = self.tools.get(&tool).ok_or(CallError::Unknown)?;
        let payload = Payload::new(arguments);
        let authorized = engine.authorize(caller, id, &tool, &payload).await?;
        let permit = match authorized.decision {
            Decision::Allow(permit) => permit,
            Decision::Deny(refusal) => return Err(CallError::Denied(Box::new(refusal))),
            Decision::Hold(refusal) => {
                return Err(CallError::Held(Box::new(refusal), authorized.gate.map(Box::new)));
            }
        };
        let passed = (permit.rule(), authorized.gate);
        let arguments = engine
            .unveil(&permit, &authorized.unveiling, payload.into_exposed())
            .await?;
        let brought = match connector.call(&offer.tool, permit.clear(arguments)).await {
            Ok(brought) => brought,
            Err(failure) => {
                if let Some(telling) = telling(&failure) {
                    engine.bring(caller, id, &tool, telling).await?;
                }
                return Err(CallError::Source(failure));
            }
        };
        let delivered = engine.bring(caller, id, &tool, bringing(brought, seal)).await?;
        Ok(Called {
            before: authorized.session,
            passed,
            delivered,
        })
    }
}

impl Asking {
    /// Asks, and says whether that is done. What came of the connector's own review is known.
    async fn ask(&self, engine: &Engine, connector: Opening) -> bool {
        let opened = match (self.owed, connector) {
            // Whoever looks at a new connector looks at all of its tools.
            (Owed::New, Opening::New | Opening::Failed) => connector,
            (Owed::New, Opening::Known) => engine.review_class(ReviewCause::NewTool, &self.name).await,
            (Owed::Changed, _) => engine.review_class(ReviewCause::ChangedTool, &self.name).await,
        };
        opened != Opening::Failed
    }
}

/// What is let in of a failure before anyone hears of it: nothing, unless it tells of what was looked at.
fn telling(failure: &Failure) -> Option<Bringing> {
    let Failure::Unfinished(Touched { class, dataset }) = failure else {
        return None;
    };
    Some(Bringing {
        form: Form::Failure,
        catalogued: Some(Catalogued {
            class: *class,
            fields: FieldClasses::NONE,
            dataset: dataset.clone(),
        }),
        ..Bringing::plain(Payload::new(Value::String(failure.to_string())))
    })
}

fn bringing(brought: Brought, seal: bool) -> Bringing {
    let Brought {
        content,
        class,
        fields,
        dataset,
    } = brought;
    Bringing {
        seal,
        catalogued: Some(Catalogued {
            class,
            fields,
            dataset,
        }),
        ..Bringing::plain(Payload::new(content))
    }
}

impl From<AccessError> for CallError {
    fn from(error: AccessError) -> Self {
        Self::Access(error)
    }
}

impl From<VeilError> for CallError {
    fn from(error: VeilError) -> Self {
        Self::Veil(error)
    }
}

impl From<DeliverError> for CallError {
    fn from(error: DeliverError) -> Self {
        Self::Deliver(error)
    }
}
