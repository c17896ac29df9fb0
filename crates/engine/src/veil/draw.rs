//! What of a tool's answer the agent gets to see.

use std::sync::Arc;

use serde_json::Value;
use tidegate_core::{Class, Ident, Kinds, MAX_RAW, Name, Tool};
use tidegate_detect::Finding;
use tidegate_ledger::event::EvidencePointer;
use tidegate_ledger::vault::Keep;

use super::echo::Echoes;
use super::form::{self, Form};
use super::split::{Splitter, escaped};
use super::table::{Table, WITHHELD};
use super::token::has_lookalike;
use super::{Handle, Held, Reading, VeilError, resolve, rewrite, seal};
use crate::inspect::{Found, Inspector};
use crate::{Catalogued, Engine, Payload};

/// Content that is brought into a session.
#[derive(Clone, Debug)]
pub struct Bringing {
    /// What it is.
    pub content: Payload,
    /// The shape it comes in.
    pub form: Form,
    /// Whether the agent asks for it to be sealed.
    pub seal: bool,
    /// What a catalog says of it, where a connector fetched it.
    pub catalogued: Option<Catalogued>,
    /// Whose word it may be as well, where nobody knows which of several said it.
    pub perhaps: Vec<Name>,
}

impl Bringing {
    /// Content that is all result, as it comes.
    #[must_use]
    pub const fn plain(content: Payload) -> Self {
        Self {
            content,
            form: Form::Plain,
            seal: false,
            catalogued: None,
            perhaps: Vec::new(),
        }
    }

    /// The tool whose word it is, where it can be nobody else's.
    pub(crate) fn only<'a>(&self, tool: &'a Name) -> Option<&'a Name> {
        self.perhaps.is_empty().then_some(tool)
    }
}

/// What is left of an answer for the agent to see.
pub(crate) struct Drawn {
    /// It; nothing when it is withheld without a trace.
    pub(crate) content: Option<Payload>,
    /// The class of what is in the clear.
    pub(crate) class: Class,
    /// The kinds of it.
    pub(crate) kinds: Kinds,
    /// What was found in it.
    pub(crate) findings: Vec<Finding>,
    /// Whether anything was taken out.
    pub(crate) redacted: bool,
    /// Whether the content is what was brought, in everything.
    pub(crate) untouched: bool,
    /// Where a sealed result is kept.
    pub(crate) evidence: Option<EvidencePointer>,
}

/// An answer on its way through.
struct Drawing {
    tool: Tool,
    content: Value,
    form: Form,
    found: Found,
    is_sealed: bool,
    /// The tool that it can only be from.
    only: Option<Name>,
    inspector: Arc<Inspector>,
    reading: Reading,
}

impl Engine {
    /// Takes out of an answer what may not enter the context raw. `text` is what was looked at.
    pub(crate) async fn draw(
        &self,
        id: &Ident,
        tool: &Tool,
        bringing: Bringing,
        found: &Found,
        text: &[u8],
    ) -> Result<Drawn, VeilError> {
        let class = tool.returns.join(found.class());
        let is_sealed = bringing.form != Form::Failure && tool.seal.seals(class, bringing.seal);
        let most = match bringing.form {
            // The person must see what they are asked about; a secret is shown to nobody.
            Form::Question => Class::Pii,
            Form::Plain | Form::McpResult | Form::McpError | Form::Failure | Form::Notice => MAX_RAW,
        };
        let passes = !is_sealed && !tool.sink && !splits(tool, bringing.form) && is_clear(found, text, most);
        if passes {
            return Ok(Drawn {
                content: Some(bringing.content),
                class,
                kinds: tool.returns.kind().into_iter().fold(found.kinds(), Kinds::with),
                findings: found.findings.clone(),
                redacted: false,
                untouched: true,
                evidence: None,
            });
        }
        let mut held = self.veils.of(id, &self.provenance).await?;
        let drawing = Drawing {
            tool: tool.clone(),
            only: bringing.only(&tool.name).cloned(),
            content: bringing.content.into_exposed(),
            form: bringing.form,
            found: found.clone(),
            is_sealed,
            inspector: Arc::clone(&self.inspector),
            reading: self.reading(),
        };
        let drawn = tokio::task::spawn_blocking(move || drawing.run(&mut held));
        drawn.await.map_err(|_| VeilError::Interrupted)?
    }
}

/// Whether a tool's answers are taken apart field by field. A source of secrets lets nothing through raw.
fn splits(tool: &Tool, form: Form) -> bool {
    tool.returns == Class::Secret
        || (!tool.fields.is_empty() && !matches!(form, Form::Notice | Form::Question))
}

/// Whether nothing in a text has to be taken out or marked, where what is at most of a class may be seen.
fn is_clear(found: &Found, text: &[u8], most: Class) -> bool {
    let withheld = found.findings.iter().any(|finding| finding.class > most);
    !withheld && std::str::from_utf8(text).is_ok_and(|text| !has_lookalike(text))
}

impl Drawing {
    fn run(self, held: &mut Held) -> Result<Drawn, VeilError> {
        let reading = self.reading.clone();
        if self.is_sealed {
            return self.seal(held);
        }
        let drawn = held.with(|table| self.open_up(table))?;
        held.make_durable(&reading)?;
        Ok(drawn)
    }

    fn keep(&self) -> Keep {
        match self.tool.keeps_secrets {
            true => Keep::OnDisk,
            false => Keep::ByClass,
        }
    }

    /// Withholds the answer whole.
    fn seal(self, held: &mut Held) -> Result<Drawn, VeilError> {
        let mut drawn = Drawn {
            content: None,
            class: Class::Public,
            kinds: Kinds::NONE,
            findings: Vec::new(),
            redacted: true,
            untouched: false,
            evidence: None,
        };
        // What a server says beside its answers has no place for a handle.
        if matches!(self.form, Form::Notice | Form::Question) {
            return Ok(drawn);
        }
        let class = self.tool.returns.join(self.found.class());
        let kept = (class, self.keep());
        let frame = form::frame(&self.content);
        let essence = form::essence(self.form, self.content);
        let (reading, inspector) = (&self.reading, &self.inspector);
        let handle =
            held.with(|table| seal::seal(table, reading, inspector, &self.tool.name, kept, &essence))?;
        held.make_durable(reading)?;
        let handle = handle.unwrap_or_else(|| Handle {
            token: WITHHELD.to_owned(),
            class,
            shape: Value::Null,
        });
        drawn.evidence = held.table().and_then(|table| seal::evidence(table, &handle));
        let shown = form::present(self.form, &frame, handle.to_json());
        drawn.content = Some(Payload::new(shown));
        Ok(drawn)
    }

    /// Takes out what may not be seen, and leaves the rest where it was.
    fn open_up(self, table: &mut Table) -> Result<Drawn, VeilError> {
        let (keep, is_split) = (self.keep(), splits(&self.tool, self.form));
        let Self {
            tool,
            content: mut value,
            form,
            found,
            only,
            inspector,
            reading,
            is_sealed: _,
        } = self;
        let opened = form::open(form, &mut value);
        let mut echoes = resolved_echoes(&tool, table, &reading)?;
        let mut redacted = false;
        let mut cleared = tool.returns;
        if is_split {
            let mut splitter = Splitter {
                table,
                fields: &tool.fields,
                source: tool.returns,
                least: Class::Public,
                keep,
                cleared: Class::Public,
                redacted: false,
                taken: Vec::new(),
            };
            value = form::split(form, value, &mut splitter);
            redacted = splitter.redacted;
            // Without declared fields the source counts as it says, whatever was taken out of it.
            if !tool.fields.is_empty() {
                cleared = splitter.cleared;
            }
            for (taken, stub) in std::mem::take(&mut splitter.taken) {
                echoes.add(&taken, &stub, tool.returns, false);
            }
        } else {
            value = escaped(value);
        }
        let echoed = echoes.replace(&mut value, table, keep);
        let (left, is_json) = inspector.again(only.as_ref(), &value);
        redacted |= rewrite::rewrite(&mut value, !is_json, &left.findings, table, keep);
        form::close(&opened, &mut value);
        // What was known exactly and taken out counts no more; what only a detector found does.
        let is_exact = (is_split && !tool.fields.is_empty()) || echoed;
        let findings = if is_exact {
            left.findings.clone()
        } else {
            found.findings.clone()
        };
        let counted = if is_exact { found.raised } else { found.class() };
        let class = cleared.join(left.class()).join(counted);
        let mut kinds = left.kinds();
        if !is_exact {
            kinds = kinds.union(found.kinds());
        }
        Ok(Drawn {
            content: Some(Payload::new(value)),
            class,
            kinds: cleared
                .kind()
                .into_iter()
                .chain(found.raised.kind())
                .fold(kinds, Kinds::with),
            findings,
            redacted: redacted || echoed,
            untouched: false,
            evidence: None,
        })
    }
}

/// What was put into calls of this session, when the tool is one that may have been given it.
fn resolved_echoes(tool: &Tool, table: &Table, reading: &Reading) -> Result<Echoes, VeilError> {
    let mut echoes = Echoes::default();
    if !tool.sink {
        return Ok(echoes);
    }
    for entry in table.entries().filter(|entry| entry.resolved && entry.alive) {
        match resolve::value_of(table, reading, &entry.token) {
            Ok(value) => echoes.add(&value, &entry.token.to_string(), entry.class, true),
            // What was destroyed meanwhile cannot be recognized, and a detector still looks.
            Err(VeilError::Gone) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(echoes)
}
