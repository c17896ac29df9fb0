//! An engine on a real store, a real ledger and a real vault, which can be started again on the same directory.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part of the house"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;
use tidegate_core::{
    Class, ControlList, Decision, FieldClasses, Ident, Name, Rise, Role, Rule, SealRule, Tool, ToolFacts,
};
use tidegate_detect::exits::Exits;
use tidegate_detect::{Detector, DetectorConfig};
use tidegate_engine::{
    Authorized, Bringing, Caller, DecisionRecord, Delivered, Engine, Observer, OpenRequest, Parts, Payload,
    Policy, Provenance,
};
use tidegate_ledger::vault::{KeySource, Vault};
use tidegate_ledger::{Ledger, Options, Reader};
use tidegate_store::{Session, SessionStore, SqliteOptions, SqliteStore};

pub struct House {
    pub engine: Engine,
    pub caller: Caller,
}

struct Silent;

impl Observer for Silent {
    fn decided(&self, _: &DecisionRecord<'_>) {}
    fn rose(&self, _: &Session, _: &Rise) {}
    fn opened(&self, _: &Session) {}
    fn reset(&self, _: &Session) {}
    fn halted(&self, _: &Session) {}
    fn unheard(&self, _: &Ident, _: &'static str) {}
}

pub fn ident(text: &str) -> Ident {
    Ident::parse(text).unwrap()
}

pub fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub fn source(text: &str, returns: Class, fields: &[(&str, Class)]) -> ToolFacts {
    ToolFacts {
        returns: Some(returns),
        fields: FieldClasses::new(fields.iter().map(|(path, class)| (path.parse().unwrap(), *class))),
        ..ToolFacts::named(name(text))
    }
}

pub fn sink(text: &str, ceiling: Class) -> ToolFacts {
    ToolFacts {
        ceiling: Some(ceiling),
        returns: Some(Class::Public),
        sink: true,
        ..ToolFacts::named(name(text))
    }
}

pub fn sealed(facts: ToolFacts) -> ToolFacts {
    ToolFacts {
        seal: SealRule::Always,
        ..facts
    }
}

pub fn vault(directory: &Path) -> Vault {
    let key = KeySource::File(directory.join("vault.key"));
    Vault::open(&directory.join("vault.db"), key, SystemTime::now()).unwrap()
}

impl House {
    pub fn start(directory: &Path, tools: impl IntoIterator<Item = ToolFacts>) -> Self {
        Self::over(directory, tools, vault(directory))
    }

    /// The same with a vault that something was done to before.
    pub fn over(directory: &Path, tools: impl IntoIterator<Item = ToolFacts>, vault: Vault) -> Self {
        let store = SqliteStore::open(directory.join("tidegate.db"), SqliteOptions::default()).unwrap();
        Self::of(directory, tools, Arc::new(store), (vault, Exits::NONE))
    }

    /// The same with exits from detection.
    pub fn with_exits(directory: &Path, tools: impl IntoIterator<Item = ToolFacts>, exits: Exits) -> Self {
        let store = SqliteStore::open(directory.join("tidegate.db"), SqliteOptions::default()).unwrap();
        Self::of(directory, tools, Arc::new(store), (vault(directory), exits))
    }

    /// The same on a store that is somebody's own.
    pub fn start_on(
        directory: &Path,
        tools: impl IntoIterator<Item = ToolFacts>,
        store: Arc<dyn SessionStore>,
    ) -> Self {
        Self::of(directory, tools, store, (vault(directory), Exits::NONE))
    }

    fn of(
        directory: &Path,
        tools: impl IntoIterator<Item = ToolFacts>,
        store: Arc<dyn SessionStore>,
        (vault, exits): (Vault, Exits),
    ) -> Self {
        let ledger_dir = directory.join("ledger");
        let ledger = Ledger::open(&ledger_dir, Options::new(&ledger_dir)).unwrap();
        let reader = Reader::open(&ledger_dir).unwrap();
        let control = ControlList::new(tools.into_iter().map(Tool::declared)).unwrap();
        let engine = Engine::new(Parts {
            store,
            policy: Policy::new(control),
            mirror: None,
            provenance: Provenance::new(ledger, reader, vault),
            detector: Detector::new(&DetectorConfig::default()).unwrap(),
            exits,
            observer: Arc::new(Silent),
        });
        let caller = Caller {
            principal: ident("alice"),
            agent: None,
            role: Role::Agent,
            token_id: ident("token"),
        };
        Self { engine, caller }
    }

    pub async fn open(&self, id: &str) -> Ident {
        let request = OpenRequest {
            user: None,
            agent: None,
            id: Some(ident(id)),
        };
        let opened = self.engine.open_session(&self.caller, request).await.unwrap();
        opened.id.clone()
    }

    pub async fn bring(&self, id: &Ident, tool: &str, content: Value, seal: bool) -> Delivered {
        let brought = Payload::new(content);
        let bringing = Bringing {
            seal,
            ..Bringing::plain(brought.clone())
        };
        let delivered = self.engine.bring(&self.caller, id, &name(tool), bringing).await;
        let delivered = delivered.unwrap();
        if let (true, Some(content)) = (delivered.untouched, &delivered.content) {
            assert_eq!(*content, brought, "what is called untouched is what was brought");
        }
        delivered
    }

    /// What the agent sees of an answer.
    pub async fn shown(&self, id: &Ident, tool: &str, content: Value) -> Value {
        let delivered = self.bring(id, tool, content, false).await;
        delivered.content.unwrap().into_exposed()
    }

    pub async fn authorize(&self, id: &Ident, tool: &str, arguments: &Value) -> Authorized {
        let (arguments, tool) = (Payload::new(arguments.clone()), name(tool));
        let authorized = self.engine.authorize(&self.caller, id, &tool, &arguments);
        authorized.await.unwrap()
    }

    /// What the tool gets, or the rule that stopped the call.
    pub async fn reaches(&self, id: &Ident, tool: &str, arguments: &Value) -> Result<Value, Rule> {
        let authorized = self.authorize(id, tool, arguments).await;
        match authorized.decision {
            Decision::Allow(permit) => {
                let unveiled = self
                    .engine
                    .unveil(&permit, &authorized.unveiling, arguments.clone());
                Ok(unveiled.await.unwrap())
            }
            Decision::Deny(refusal) | Decision::Hold(refusal) => Err(refusal.rule()),
        }
    }

    pub async fn label(&self, id: &Ident) -> Class {
        let view = self.engine.context(&self.caller, id).await.unwrap();
        view.session.context.label().class()
    }
}
