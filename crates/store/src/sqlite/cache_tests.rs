use super::*;
use proptest::prelude::*;
use tidegate_core::{ContextState, Moment};

const ROOM: usize = 64 << 20;

/// A session whose `opened_at` says which revision of its row it is.
fn session(key: u8, revision: i64) -> Arc<Session> {
    let ident = |text: &str| Ident::parse(text).unwrap();
    Arc::new(Session {
        id: ident(&format!("s-{key}")),
        user: ident("ada"),
        agent: ident("agent-1"),
        opened_at: Moment(revision),
        context: ContextState::clean(),
    })
}

/// The file beside the cache: every revision of every row, and reads that have taken their snapshot and not yet ended.
struct Model {
    cache: Cache,
    rows: Vec<Vec<i64>>,
    revision: i64,
    reads: Vec<(u8, Stamp)>,
}

#[derive(Clone, Debug)]
enum Step {
    Foreign(u8),
    Own(u8),
    BeginRead(u8),
    EndRead,
    Follow { read_within: bool, early: bool },
}

impl Model {
    fn new() -> Self {
        let rows = vec![vec![0]; 4];
        Self {
            cache: Cache::new(ROOM, 0),
            rows,
            revision: 0,
            reads: Vec::new(),
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Foreign(key) => self.commit(key),
            Step::Own(key) => {
                self.commit(key);
                self.cache
                    .publish(self.revision, &[session(key, self.revision)], &[]);
            }
            Step::BeginRead(key) => {
                let row = *self.rows[usize::from(key)].last().unwrap();
                let snapshot = self.revision;
                self.reads.push((key, Stamp { row, snapshot }));
            }
            Step::EndRead => {
                let read = self.reads.pop();
                end(&self.cache, read);
            }
            Step::Follow { read_within, early } => {
                let within = if read_within { self.reads.pop() } else { None };
                self.follow(within, early);
            }
        }
    }

    fn commit(&mut self, key: u8) {
        self.revision += 1;
        self.rows[usize::from(key)].push(self.revision);
    }

    fn follow(&self, within: Option<(u8, Stamp)>, early: bool) {
        let applied = self.cache.applied();
        let followed = self.cache.follow(self.revision, |cache| {
            end(cache, within.filter(|_| early));
            for (key, revisions) in (0_u8..).zip(&self.rows) {
                let last = *revisions.last().unwrap();
                if last > applied {
                    cache.sessions.drop_older(format!("s-{key}").as_str(), last);
                }
            }
            end(cache, within.filter(|_| !early));
            Ok::<_, ()>(())
        });
        assert_eq!(followed, Ok(()));
    }

    fn check(&self) {
        let applied = self.cache.applied();
        for (key, revisions) in (0_u8..).zip(&self.rows) {
            let Some(kept) = self.cache.sessions.find(format!("s-{key}").as_str()) else {
                continue;
            };
            let due = revisions
                .iter()
                .copied()
                .filter(|revision| *revision <= applied)
                .max();
            assert!(
                Some(kept.opened_at.0) >= due,
                "s-{key} is at {}, due is {due:?}",
                kept.opened_at.0
            );
        }
    }
}

fn end(cache: &Cache, read: Option<(u8, Stamp)>) {
    if let Some((key, stamp)) = read {
        let session = session(key, stamp.row);
        cache.sessions.keep(&session.id, &session, stamp);
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4_u8).prop_map(Step::Foreign),
        (0..4_u8).prop_map(Step::Own),
        (0..4_u8).prop_map(Step::BeginRead),
        Just(Step::EndRead),
        (any::<bool>(), any::<bool>()).prop_map(|(read_within, early)| Step::Follow { read_within, early }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn no_stale_entry(steps in proptest::collection::vec(step(), 0..40)) {
        let mut model = Model::new();
        for step in &steps {
            model.take(step);
            model.check();
        }
    }
}

#[test]
fn a_read_that_ends_after_a_newer_change_is_not_kept() {
    let mut model = Model::new();
    for step in [
        Step::BeginRead(0),
        Step::Foreign(0),
        Step::Follow {
            read_within: false,
            early: false,
        },
        Step::EndRead,
    ] {
        model.take(&step);
    }
    assert!(model.cache.sessions.find("s-0").is_none());
    model.take(&Step::BeginRead(0));
    model.take(&Step::EndRead);
    assert_eq!(model.cache.sessions.find("s-0"), Some(session(0, 1)));
}

#[test]
fn of_several_writes_in_one_transaction_the_last_is_kept() {
    let cache = Cache::new(ROOM, 0);
    let (first, last) = (session(0, 10), session(0, 11));
    cache.publish(1, &[first, session(1, 7), last.clone()], &[]);
    assert_eq!(cache.sessions.find("s-0"), Some(last));
    assert_eq!(cache.applied(), 1);
}

#[test]
fn memory_is_bounded_and_what_is_used_stays() {
    let weight = session_bytes(&session(0, 0));
    let cache = Cache::new(SHARDS * weight * 11, 0);
    let stamp = Stamp { row: 0, snapshot: 0 };
    let hot = session(0, 0);
    for number in 0..20_000 {
        cache.sessions.keep(&hot.id, &hot, stamp);
        assert!(cache.sessions.find("s-0").is_some());
        let id = Ident::parse(&format!("x-{number}")).unwrap();
        cache.sessions.keep(&id, &session(1, 0), stamp);
    }
    let shards = cache.sessions.shards.iter().map(|shard| shard.read().unwrap());
    for shard in shards {
        assert!(shard.bytes <= cache.sessions.shard_bytes);
        assert!(shard.queue.len() <= 2 * shard.entries.len() + SHARDS);
        assert_eq!(shard.bytes, shard.entries.len() * weight);
        assert!(!shard.entries.is_empty());
    }
}
