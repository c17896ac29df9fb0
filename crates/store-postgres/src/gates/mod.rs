//! Gates: beside the sessions, in the same database and under the same fence.
//!
//! How a gate changes stands in [`tidegate_store::Gate`]. A step reads the row, lets that rule make the next state, and puts it in
//! the row's place if nobody was faster; otherwise it starts anew from the row as it is then.

mod query;

use async_trait::async_trait;
use tidegate_core::{Class, Ident, Moment, Name};
use tidegate_store::{
    AnswerError, Binding, Gate, GateAnswer, GateApproval, GateEnd, GateQuery, GateState, GateStore, Listed,
    OpenGateError, Opened, StoreError,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

pub(crate) use query::GateStatement;

use crate::annex::{column, verdict};
use crate::failure::damaged;
use crate::lanes::Values;
use crate::rows::{PostgresRows, parts};

/// The most gates that one question gives.
const MOST_LISTED: usize = 1_000;

/// How often a step starts anew because others were faster. A gate can only change so often.
const MAX_TRIES: usize = 64;

#[async_trait]
impl GateStore for PostgresRows {
    async fn open_gate(&self, mut gate: Gate, most: usize) -> Result<Opened, OpenGateError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let needed = i32::try_from(gate.needed).unwrap_or(i32::MAX);
        let values: Values<'_> = &[
            &ledger,
            &fence,
            &most,
            &gate.id.as_str(),
            &gate.kind.as_str(),
            &gate.session.as_str(),
            &gate.user.as_str(),
            &gate.agent.as_str(),
            &gate.asked_by.as_str(),
            &gate.owner.as_str(),
            &gate.binding.0.as_slice(),
            &gate.tool.as_ref().map(Name::as_str),
            &gate.class.as_str(),
            &gate.rule,
            &gate.policy,
            &gate.document,
            &gate.evidence,
            &gate.opened_at.0,
            &gate.expires_at.0,
            &needed,
        ];
        let rows = self.ask_gates(GateStatement::Open, values).await?;
        let row = rows.first().ok_or_else(damaged)?;
        match verdict(&rows)? {
            "new" => {
                gate.place = column(row, 1)?;
                gate.tick = column(row, 2)?;
                Ok(Opened::New(gate))
            }
            "known" => {
                let known = Ident::parse(column(row, 3)?).map_err(|_| damaged())?;
                let known = self.gate(&known).await?.ok_or_else(damaged)?;
                Ok(Opened::Known(known))
            }
            "too many" => Err(OpenGateError::TooMany),
            _ => Err(damaged().into()),
        }
    }

    async fn gate(&self, id: &Ident) -> Result<Option<Gate>, StoreError> {
        Ok(self.read_gates(GateStatement::Find, &[&id.as_str()]).await?.pop())
    }

    async fn latest(&self, binding: &Binding) -> Result<Option<Gate>, StoreError> {
        let found = self
            .read_gates(GateStatement::Latest, &[&binding.0.as_slice()])
            .await?;
        Ok(found.into_iter().next())
    }

    async fn answer(&self, id: &Ident, answer: GateAnswer) -> Result<Gate, AnswerError> {
        for _ in 0..MAX_TRIES {
            let before = self.gate(id).await?.ok_or(AnswerError::NoGate)?;
            let mut after = before.clone();
            after.answer(answer.clone())?;
            if let Some(gate) = self.put_gate(&before, after).await? {
                return Ok(gate);
            }
        }
        Err(StoreError::Overloaded.into())
    }

    async fn spend(&self, id: &Ident, binding: &Binding, at: Moment) -> Result<Option<Gate>, StoreError> {
        self.step_gate(id, |gate| gate.spend(binding, at)).await
    }

    async fn expire(&self, id: &Ident, reason: &str, at: Moment) -> Result<Option<Gate>, StoreError> {
        self.step_gate(id, |gate| gate.expire(reason, at)).await
    }

    async fn gates(&self, query: &GateQuery) -> Result<Vec<Gate>, StoreError> {
        let limit = bounded(query.limit);
        let first = match query.listed {
            Listed::Open => i64::MIN,
            Listed::Decided | Listed::All => i64::MAX,
        };
        let after = query.after.unwrap_or(first);
        let session = query.session.as_ref().map(Ident::as_str);
        let kind = query.kind.map(|kind| kind.as_str());
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&after, &limit];
        if query.listed == Listed::Open {
            values.push(&query.at.0);
        }
        if let Some(session) = &session {
            values.push(session);
        }
        if let Some(kind) = &kind {
            values.push(kind);
        }
        self.read_gates(GateStatement::of(query), &values).await
    }

    async fn overdue(&self, at: Moment, limit: usize) -> Result<Vec<Gate>, StoreError> {
        self.read_gates(GateStatement::Overdue, &[&at.0, &bounded(limit)])
            .await
    }

    async fn left_open(&self, owner: &Ident, limit: usize) -> Result<Vec<Gate>, StoreError> {
        self.read_gates(GateStatement::LeftOpen, &[&owner.as_str(), &bounded(limit)])
            .await
    }

    async fn changed(&self, after: i64, limit: usize) -> Result<Vec<Gate>, StoreError> {
        self.read_gates(GateStatement::Changed, &[&after, &bounded(limit)])
            .await
    }

    async fn tick(&self) -> Result<i64, StoreError> {
        let rows = self.ask_gates(GateStatement::Tick, &[]).await?;
        column(rows.first().ok_or_else(damaged)?, 0)
    }
}

impl PostgresRows {
    async fn read_gates(
        &self,
        statement: GateStatement,
        values: Values<'_>,
    ) -> Result<Vec<Gate>, StoreError> {
        let rows = self.ask_gates(statement, values).await?;
        rows.iter().map(read).collect()
    }

    /// One step of a gate, if it is one.
    async fn step_gate(
        &self,
        id: &Ident,
        step: impl Fn(&mut Gate) -> bool + Send + Sync,
    ) -> Result<Option<Gate>, StoreError> {
        for _ in 0..MAX_TRIES {
            let Some(before) = self.gate(id).await? else {
                return Ok(None);
            };
            let mut after = before.clone();
            if !step(&mut after) {
                return Ok(None);
            }
            if let Some(gate) = self.put_gate(&before, after).await? {
                return Ok(Some(gate));
            }
        }
        Err(StoreError::Overloaded)
    }

    /// Puts a gate in the place of what was read; nothing when it is another by now.
    async fn put_gate(&self, before: &Gate, mut after: Gate) -> Result<Option<Gate>, StoreError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let end = after.end.as_ref();
        let values: Values<'_> = &[
            &ledger,
            &fence,
            &before.place,
            &before.tick,
            &after.state.as_str(),
            &GateApproval::write_all(&after.approvals),
            &after.expires_at.0,
            &end.and_then(|end| end.by.as_ref()).map(Ident::as_str),
            &end.map(|end| end.reason.as_str()),
            &end.map(|end| end.at.0),
        ];
        let rows = self.ask_gates(GateStatement::Change, values).await?;
        match verdict(&rows)? {
            "done" => {
                after.tick = column(rows.first().ok_or_else(damaged)?, 1)?;
                Ok(Some(after))
            }
            "moved" => Ok(None),
            _ => Err(damaged()),
        }
    }
}

fn bounded(limit: usize) -> i64 {
    i64::try_from(limit.min(MOST_LISTED)).unwrap_or(0)
}

fn read(row: &Row) -> Result<Gate, StoreError> {
    let ident = |place| Ident::parse(column(row, place)?).map_err(|_| damaged());
    let text = |place| column::<String>(row, place);
    let at = |place| column(row, place).map(Moment);
    let class: &str = column(row, 9)?;
    let state: &str = column(row, 17)?;
    let needed: i32 = column(row, 16)?;
    let binding: &[u8] = column(row, 7)?;
    let tool: Option<&str> = column(row, 8)?;
    let ended_by: Option<&str> = column(row, 19)?;
    let ended_at: Option<i64> = column(row, 21)?;
    let end = match ended_at {
        None => None,
        Some(at) => Some(GateEnd {
            by: ended_by.map(Ident::parse).transpose().map_err(|_| damaged())?,
            reason: text(20)?,
            at: Moment(at),
        }),
    };
    Ok(Gate {
        id: ident(0)?,
        kind: column::<&str>(row, 1)?.parse().map_err(|_| damaged())?,
        session: ident(2)?,
        user: ident(3)?,
        agent: ident(4)?,
        asked_by: ident(5)?,
        owner: ident(6)?,
        binding: Binding(binding.try_into().map_err(|_| damaged())?),
        tool: tool.map(Name::parse).transpose().map_err(|_| damaged())?,
        class: Class::ALL
            .into_iter()
            .find(|known| known.as_str() == class)
            .ok_or_else(damaged)?,
        rule: text(10)?,
        policy: text(11)?,
        document: text(12)?,
        evidence: column(row, 13)?,
        opened_at: at(14)?,
        expires_at: at(15)?,
        needed: u32::try_from(needed).map_err(|_| damaged())?,
        state: GateState::ALL
            .into_iter()
            .find(|known| known.as_str() == state)
            .ok_or_else(damaged)?,
        approvals: GateApproval::read_all(column(row, 18)?).ok_or_else(damaged)?,
        end,
        place: column(row, 22)?,
        tick: column(row, 23)?,
    })
}
