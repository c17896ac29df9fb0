//! Passes what the engine tells on to counters, log and traces.

use std::sync::Arc;

use tidegate_core::{Ident, Name, Rise};
use tidegate_engine::{DecisionRecord, Observer};
use tidegate_store::Session;

use super::metrics::{DecisionLabels, FailureLabels, RiseLabels};
use super::{DecisionLog, Metrics};

/// The engine's observer at the gateway.
pub struct Telemetry {
    metrics: Arc<Metrics>,
    log: DecisionLog,
}

impl Telemetry {
    /// Counts into these metrics and writes to this log.
    #[must_use]
    pub const fn new(metrics: Arc<Metrics>, log: DecisionLog) -> Self {
        Self { metrics, log }
    }
}

impl Observer for Telemetry {
    fn decided(&self, record: &DecisionRecord<'_>) {
        let labels = DecisionLabels {
            decision: record.verdict(),
            rule: record.rule(),
        };
        self.metrics.decisions.get_or_create(&labels).inc();
        self.metrics.pace.count(record.at, record.verdict());
        self.log.write(record);
        let context = &record.session.context;
        tracing::info_span!(
            "authorize",
            session = record.session.id.as_str(),
            tool = record.tool.as_str(),
            decision = record.verdict(),
            rule = record.rule(),
            sensitivity = context.label().class().as_str(),
            contamination_source = context.contamination_source().map(Name::as_str),
            arguments_class = record.arguments.as_str(),
            policy = record.policy.as_str(),
        )
        .in_scope(|| {});
    }

    fn rose(&self, session: &Session, rise: &Rise) {
        self.metrics
            .rises
            .get_or_create(&RiseLabels { to: rise.to.as_str() })
            .inc();
        tracing::info_span!(
            "rise",
            session = session.id.as_str(),
            from = rise.from.as_str(),
            to = rise.to.as_str(),
            source = rise.source.as_str(),
        )
        .in_scope(|| {});
    }

    fn opened(&self, _session: &Session) {
        self.metrics.sessions_opened.inc();
    }

    fn reset(&self, _session: &Session) {
        self.metrics.resets.inc();
    }

    fn halted(&self, session: &Session) {
        self.metrics.halts.inc();
        tracing::info_span!("halt", session = session.id.as_str()).in_scope(|| {});
    }

    fn unheard(&self, session: &Ident, reason: &'static str) {
        self.metrics
            .model_failures
            .get_or_create(&FailureLabels { reason })
            .inc();
        tracing::warn!(
            session = session.as_str(),
            reason,
            "the model has no opinion on a text"
        );
    }
}
