//! The embedded store beside core's own rule as the model: whatever is asked in whatever order, by two handles, one
//! of them opened anew now and then, they agree.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use proptest::prelude::*;
use tidegate_core::{Class, ContextState, Entry, Halt, Ident, Kinds, Moment, Name};
use tidegate_store::{Opening, Reset, SessionStore, SqliteOptions, SqliteStore};

#[derive(Clone, Debug)]
enum Step {
    Raise { rank: u8, kinds: u8, source: u8 },
    Dataset { name: u8, rank: u8 },
    Halt { source: u8 },
    Reset,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5_u8, 0..8_u8, 0..3_u8).prop_map(|(rank, kinds, source)| Step::Raise { rank, kinds, source }),
        4 => (0..4_u8, 0..5_u8).prop_map(|(name, rank)| Step::Dataset { name, rank }),
        1 => (0..3_u8).prop_map(|source| Step::Halt { source }),
        1 => Just(Step::Reset),
        1 => Just(Step::Reopen),
    ]
}

fn name(number: u8) -> Name {
    Name::parse(&format!("source {number}")).unwrap()
}

struct Pair {
    dir: tempfile::TempDir,
    handles: [SqliteStore; 2],
    model: [ContextState; 2],
}

impl Pair {
    fn open(dir: &tempfile::TempDir) -> SqliteStore {
        SqliteStore::open(dir.path().join("tidegate.db"), SqliteOptions::default()).unwrap()
    }

    fn id(session: usize) -> Ident {
        Ident::parse(&format!("s-{session}")).unwrap()
    }

    async fn new() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let handles = [Self::open(&dir), Self::open(&dir)];
        for (session, handle) in handles.iter().enumerate() {
            let ident = |text| Ident::parse(text).unwrap();
            let opening = Opening {
                id: Self::id(session),
                user: ident("ada"),
                agent: ident("a"),
                at: Moment(0),
            };
            handle.open(opening).await.unwrap();
        }
        Self {
            dir,
            handles,
            model: [ContextState::clean(), ContextState::clean()],
        }
    }

    async fn take(&mut self, step: &Step, session: usize, handle: usize, at: Moment) {
        let (store, model, id) = (&self.handles[handle], &mut self.model[session], Self::id(session));
        match *step {
            Step::Raise { rank, kinds, source } => {
                let class = Class::from_rank(rank).unwrap();
                let entry = Entry {
                    class,
                    kinds: Kinds::from_bits(kinds),
                    source: name(source),
                    at,
                };
                let admitted = store.raise(&id, entry.clone()).await.unwrap();
                assert_eq!(admitted.admission, model.admit(entry));
            }
            Step::Dataset { name: number, rank } => {
                let class = Class::from_rank(rank).unwrap();
                let admitted = store.add_dataset(&id, name(number), class, at).await.unwrap();
                assert_eq!(admitted.admission, model.admit_dataset(name(number), class, at));
            }
            Step::Halt { source } => {
                let halt = Halt {
                    source: name(source),
                    at,
                };
                store.halt(&id, halt.clone()).await.unwrap();
                model.halt(halt);
            }
            Step::Reset => {
                let reset = Reset {
                    by: Ident::parse("root").unwrap(),
                    reason: "r".to_owned(),
                    at,
                };
                store.reset(&id, Class::Secret, reset).await.unwrap();
                *model = ContextState::clean();
            }
            Step::Reopen => self.handles[handle] = Self::open(&self.dir),
        }
    }

    async fn check(&self) {
        for (session, model) in self.model.iter().enumerate() {
            for store in &self.handles {
                let current = store.current(&Self::id(session)).await.unwrap().unwrap();
                assert_eq!(&current.context, model);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn two_handles_agree_with_the_model(steps in proptest::collection::vec((step(), 0..2_usize, 0..2_usize), 0..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut pair = Pair::new().await;
            for ((step, session, handle), at) in steps.iter().zip(0..) {
                pair.take(step, *session, *handle, Moment(at)).await;
                pair.check().await;
            }
        });
    }
}
