//! Gates on a server that keeps them.

use async_trait::async_trait;
use tidegate_core::{Ident, Moment};

use super::{Rows, Shared};
use crate::{
    AnswerError, Binding, Gate, GateAnswer, GateQuery, GateStore, OpenGateError, Opened, StoreError,
};

#[async_trait]
impl<R: Rows + GateStore> GateStore for Shared<R> {
    async fn open_gate(&self, gate: Gate, most: usize) -> Result<Opened, OpenGateError> {
        self.rows.open_gate(gate, most).await
    }

    async fn gate(&self, id: &Ident) -> Result<Option<Gate>, StoreError> {
        self.rows.gate(id).await
    }

    async fn latest(&self, binding: &Binding) -> Result<Option<Gate>, StoreError> {
        self.rows.latest(binding).await
    }

    async fn answer(&self, id: &Ident, answer: GateAnswer) -> Result<Gate, AnswerError> {
        self.rows.answer(id, answer).await
    }

    async fn spend(&self, id: &Ident, binding: &Binding, at: Moment) -> Result<Option<Gate>, StoreError> {
        self.rows.spend(id, binding, at).await
    }

    async fn expire(&self, id: &Ident, reason: &str, at: Moment) -> Result<Option<Gate>, StoreError> {
        self.rows.expire(id, reason, at).await
    }

    async fn gates(&self, query: &GateQuery) -> Result<Vec<Gate>, StoreError> {
        self.rows.gates(query).await
    }

    async fn overdue(&self, at: Moment, limit: usize) -> Result<Vec<Gate>, StoreError> {
        self.rows.overdue(at, limit).await
    }

    async fn left_open(&self, owner: &Ident, limit: usize) -> Result<Vec<Gate>, StoreError> {
        self.rows.left_open(owner, limit).await
    }

    async fn changed(&self, after: i64, limit: usize) -> Result<Vec<Gate>, StoreError> {
        self.rows.changed(after, limit).await
    }

    async fn tick(&self) -> Result<i64, StoreError> {
        self.rows.tick().await
    }
}
