//! How long the first page of the queue takes when much waits: `cargo xtask bench gates`.
//!
//! 100,000 sessions, 10,000 gates that wait and as many that were decided, over HTTP and in the store itself.
#![expect(clippy::print_stdout, reason = "a program that prints what it measured")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::stand::{Outcome, Stand};
use bench::{HttpLoad, Spread};
use tidegate_core::{Class, Ident, Moment, Name, Role};
use tidegate_gateway::new_token;
use tidegate_store::{
    Binding, Gate, GateAnswer, GateKind, GateQuery, GateState, GateStore, Listed, Opening, SessionStore,
    SqliteStore, TokenStore,
};
use tokio::task::JoinSet;

const SESSIONS: usize = 100_000;
const GATES: usize = 10_000;
const AT_ONCE: usize = 512;
const CALLS: usize = 300;

/// Far away: nothing runs out of time while it is measured.
const LATER: Moment = Moment(4_000_000_000_000);

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let directory = tempfile::Builder::new().prefix("bench-gates").tempdir()?;
    runtime.block_on(async {
        let stand = Stand::with_gates(directory.path()).await?;
        fill(&stand.store).await?;
        pages(&stand.store).await?;
        over_http(&stand).await
    })
}

async fn fill(store: &Arc<SqliteStore>) -> Outcome<()> {
    let began = Instant::now();
    in_turns(SESSIONS, |number| {
        let store = Arc::clone(store);
        async move {
            let opening = Opening {
                id: Ident::parse(&format!("session-{number:08}"))?,
                user: Ident::parse("ada")?,
                agent: Ident::parse("bot")?,
                at: Moment(0),
            };
            store.open(opening).await?;
            Ok(())
        }
    })
    .await?;
    in_turns(2 * GATES, |number| {
        let store = Arc::clone(store);
        async move {
            let gate = gate(number)?;
            let id = gate.id.clone();
            store.open_gate(gate, GATES).await?;
            if number % 2 == 1 {
                let answer = GateAnswer {
                    by: Ident::parse("olga")?,
                    role: Role::HumanOperator,
                    approve: false,
                    reason: "no".to_owned(),
                    at: Moment(1),
                    usable_until: LATER,
                };
                store.answer(&id, answer).await?;
            }
            Ok(())
        }
    })
    .await?;
    println!(
        "filled in {:.1} s: {SESSIONS} sessions, {GATES} gates that wait, {GATES} that were decided",
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

async fn in_turns<F>(count: usize, work: impl Fn(usize) -> F) -> Outcome<()>
where
    F: Future<Output = Outcome<()>> + Send + 'static,
{
    for first in (0..count).step_by(AT_ONCE) {
        let mut tasks = JoinSet::new();
        for number in first..count.min(first + AT_ONCE) {
            tasks.spawn(work(number));
        }
        for done in tasks.join_all().await {
            done?;
        }
    }
    Ok(())
}

fn gate(number: usize) -> Outcome<Gate> {
    let mut binding = [0; 32];
    for (to, from) in binding.iter_mut().zip(number.to_le_bytes()) {
        *to = from;
    }
    Ok(Gate {
        id: Ident::parse(&format!("gate_{number:08}"))?,
        kind: if number % 4 < 2 {
            GateKind::ToolApproval
        } else {
            GateKind::PiiLeakRisk
        },
        session: Ident::parse(&format!("session-{:08}", number * 5 % SESSIONS))?,
        user: Ident::parse("ada")?,
        agent: Ident::parse("bot")?,
        asked_by: Ident::parse("ada")?,
        owner: Ident::parse("here")?,
        binding: Binding(binding),
        tool: Some(Name::parse("gmail_guest_draft")?),
        class: Class::Pii,
        rule: "human-approval".to_owned(),
        policy: "0123456789ab".to_owned(),
        document: format!(
            "{{\"label\":\"public\",\"reason\":\"each call needs approval\",\"arguments\":{{\"to\":\"{{EMAIL_1}}\",\"text\":\"{}\"}}}}",
            "word ".repeat(100)
        ),
        evidence: Some("evidence://pii/00000000000000000000000000000000".to_owned()),
        opened_at: Moment(0),
        expires_at: LATER,
        needed: 1,
        state: GateState::Open,
        approvals: Vec::new(),
        end: None,
        place: 0,
        tick: 0,
    })
}

async fn pages(store: &Arc<SqliteStore>) -> Outcome<()> {
    let deep = i64::try_from(GATES)?;
    let cases = [
        ("open, first page", Listed::Open, None, None),
        ("open, from the middle", Listed::Open, None, Some(deep)),
        ("open of a kind", Listed::Open, Some(GateKind::PiiLeakRisk), None),
        ("decided, newest", Listed::Decided, None, None),
    ];
    for (name, listed, kind, after) in cases {
        let query = GateQuery {
            listed,
            kind,
            session: None,
            after,
            limit: 50,
            at: Moment(1),
        };
        let mut times = Vec::with_capacity(CALLS);
        let began = Instant::now();
        for _ in 0..CALLS {
            let one = Instant::now();
            let page = store.gates(&query).await?;
            times.push(one.elapsed());
            if page.len() != 50 {
                return Err("a page is not full".into());
            }
        }
        shown(&format!("store, {name}"), &Spread::new(times, began.elapsed()));
    }
    Ok(())
}

async fn over_http(stand: &Stand) -> Outcome<()> {
    let reviewer = new_token(Role::HumanOperator, Ident::parse("olga")?, None, Moment(0))?;
    stand.store.issue(reviewer.record).await?;
    let address = stand.serve().await?;
    let request = format!(
        "GET /v1/gates?limit=50 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        reviewer.text
    );
    let load = HttpLoad {
        address,
        request: request.into_bytes(),
        connections: 1,
        calls: CALLS,
    };
    let spread = tokio::task::spawn_blocking(move || load.run()).await??;
    shown("HTTP, first page of 50", &spread);
    Ok(())
}

fn shown(name: &str, spread: &Spread) {
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    println!(
        "{name:<32} p50 {:>8.3} ms   p99 {:>8.3} ms",
        ms(spread.p50()),
        ms(spread.quantile(0.99))
    );
}
