//! What runs write down and how they descend from each other: the contract behind scratchpads, memories and children.
//!
//! A store holds no notes. A page's text lies in the evidence vault, encrypted; the store knows which piece of evidence
//! is the page now, and of which class. So a backend can be read by an operator without showing what an agent wrote.

use async_trait::async_trait;
use tidegate_core::{Class, Ident, Moment, Name};

use crate::StoreError;

/// Whose page it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// One run's scratchpad.
    Run(Ident),
    /// What one user's agent keeps from run to run.
    Agent {
        /// The user.
        user: Ident,
        /// The agent.
        agent: Ident,
    },
}

/// Everything on a shelf, as one piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where its text lies.
    pub pointer: String,
    /// The highest class of what is on it.
    pub class: Class,
    /// When it was written.
    pub at: Moment,
}

/// A session that another session started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kin {
    /// The child.
    pub child: Ident,
    /// The session that started it.
    pub parent: Ident,
    /// Where the declaration of its answer lies.
    pub answer: String,
    /// The most bits that such an answer can carry.
    pub answer_bits: u32,
    /// When it was started.
    pub at: Moment,
}

/// Pages and kinship that outlive a process.
///
/// Each change must be durable before its future resolves, and in force for every later call, in this process and in every
/// other on the same state. Changes of one shelf or one family are atomic.
#[async_trait]
pub trait MemoryStore: Send + Sync {
    /// The page on a shelf. It must show every change that was acknowledged before this call.
    async fn page(&self, shelf: &Shelf) -> Result<Option<Page>, StoreError>;

    /// Puts a page in the place of the one that `before` points to, or on an empty shelf. It must refuse when another
    /// page lies there, and when the shelf is a run's that is halted or has ended.
    async fn turn_page(&self, shelf: &Shelf, before: Option<&str>, page: Page) -> Result<(), TurnError>;

    /// Takes the page away and gives it. It must do so in a halted run too.
    async fn clear_shelf(&self, shelf: &Shelf) -> Result<Option<Page>, StoreError>;

    /// Runs that `halted_by` halted and whose page still lies there, at most `limit`.
    async fn left_behind(&self, halted_by: &Name, limit: usize) -> Result<Vec<Ident>, StoreError>;

    /// Makes one session another's child. It must refuse a session that has a parent, one that is its own ancestor's, and
    /// one more than `most` children of one parent.
    async fn adopt(&self, kin: Kin, most: usize) -> Result<(), KinError>;

    /// How a session descends from another, if it does.
    async fn kin(&self, child: &Ident) -> Result<Option<Kin>, StoreError>;

    /// The children of a session, oldest first.
    async fn children(&self, parent: &Ident) -> Result<Vec<Ident>, StoreError>;

    /// Takes a child's answer, with so many bits below its class, and gives how many bits have been taken so by now in the
    /// child's whole tree: by its first ancestor and everyone who descends from it. It must take one answer of each child
    /// only, and must refuse bits beyond `most` for the whole tree.
    async fn take_answer(&self, child: &Ident, bits: u32, most: u32) -> Result<u32, KinError>;
}

/// Why a page was not put on its shelf.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// Another page lies there.
    #[error("the page has been written meanwhile")]
    Moved,
    /// The run takes no more notes.
    #[error("the run is halted or has ended")]
    Closed,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why kinship was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KinError {
    /// The session has a parent, or would become its own ancestor.
    #[error("the session cannot become a child")]
    NotFree,
    /// The parent has as many children as it may have.
    #[error("the session has as many children as it may have")]
    TooMany,
    /// The session is nobody's child.
    #[error("the session is nobody's child")]
    NoChild,
    /// Its answer was taken before.
    #[error("the child has answered already")]
    Answered,
    /// The tree may take no more bits.
    #[error("the children's answers have carried as many bits as they may")]
    BitsSpent,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
