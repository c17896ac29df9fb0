//! Notes, kinship and origins on a shared server: the server's rows keep these contracts themselves.

use async_trait::async_trait;
use tidegate_core::{Ident, Name};

use super::{Rows, Shared};
use crate::{
    Kin, KinError, MemoryStore, OriginBounds, OriginChunk, OriginStore, Page, Recalled, Shelf, StoreError,
    TurnError,
};

#[async_trait]
impl<R: Rows + MemoryStore> MemoryStore for Shared<R> {
    async fn page(&self, shelf: &Shelf) -> Result<Option<Page>, StoreError> {
        MemoryStore::page(&*self.rows, shelf).await
    }

    async fn turn_page(&self, shelf: &Shelf, before: Option<&str>, page: Page) -> Result<(), TurnError> {
        self.rows.turn_page(shelf, before, page).await
    }

    async fn clear_shelf(&self, shelf: &Shelf) -> Result<Option<Page>, StoreError> {
        self.rows.clear_shelf(shelf).await
    }

    async fn left_behind(&self, halted_by: &Name, limit: usize) -> Result<Vec<Ident>, StoreError> {
        self.rows.left_behind(halted_by, limit).await
    }

    async fn adopt(&self, kin: Kin, most: usize) -> Result<(), KinError> {
        self.rows.adopt(kin, most).await
    }

    async fn kin(&self, child: &Ident) -> Result<Option<Kin>, StoreError> {
        self.rows.kin(child).await
    }

    async fn children(&self, parent: &Ident) -> Result<Vec<Ident>, StoreError> {
        self.rows.children(parent).await
    }

    async fn take_answer(&self, child: &Ident, bits: u32, most: u32) -> Result<u32, KinError> {
        self.rows.take_answer(child, bits, most).await
    }
}

#[async_trait]
impl<R: Rows + OriginStore> OriginStore for Shared<R> {
    async fn begin(&self, session: &Ident) -> Result<(), StoreError> {
        self.rows.begin(session).await
    }

    async fn remember(
        &self,
        session: &Ident,
        chunks: Vec<OriginChunk>,
        bounds: OriginBounds,
    ) -> Result<(), StoreError> {
        self.rows.remember(session, chunks, bounds).await
    }

    async fn close(&self, session: &Ident) -> Result<(), StoreError> {
        self.rows.close(session).await
    }

    async fn recall(&self, session: &Ident, after: u64) -> Result<Recalled, StoreError> {
        self.rows.recall(session, after).await
    }
}
