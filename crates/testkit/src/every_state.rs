//! A store with a command in every state and with every end: what a migration must carry over.
//!
//! Guarantees: the rows are those that the store itself writes, so the laws hold. Does not:
//! archive, or write what only strangers write; a test adds that in SQL.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "it tells what is wrong by a panic, as tests do"
)]

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::transition::{Report, Verdict};
use counterfoil_core::domain::{
    Answer, Asking, Command, CommandId, Completion, Contract, Destination, Event, Idempotent,
    Judge, OrderingKey, Outcome, ReceiptOutcome, ResultBody, Seed, Span, Stream, Terms,
};
use counterfoil_core::port::store::{
    Append, ClaimFrom, Claimed, Declared, Ended, Exchange, Settle,
};
use counterfoil_core::port::{
    Act, Acted, Actor, Attempt, BoxFuture, Deed, Question, Store, Transport,
};

/// One command: its id, its state, and its state when a relay that completes all is idle.
pub type Standing = (&'static str, &'static str, &'static str);

/// Each command of [`fill`] without an ordering key and without an expiry.
pub const PLAIN: [Standing; 18] = [
    ("pending", "pending", "completed"),
    ("sending", "sending", "completed"),
    ("tried", "pending", "completed"),
    ("asking", "asking", "completed"),
    ("asked", "asking", "completed"),
    ("redelivered", "pending", "completed"),
    ("s:2:0", "completed", "completed"),
    ("s:2:1", "pending", "completed"),
    ("published", "published", "published"),
    ("paused", "pending", "pending"),
    ("dead", "dead", "dead"),
    ("conflict", "conflict", "conflict"),
    ("uncertain", "uncertain", "uncertain"),
    ("completed", "completed", "completed"),
    ("rejected", "rejected", "rejected"),
    ("accepted", "accepted", "accepted"),
    ("cancelled", "cancelled", "cancelled"),
    ("contradicted", "completed", "completed"),
];

/// Each with an ordering key: one lane stands still behind its parked head, one goes on.
pub const IN_LANES: [Standing; 5] = [
    ("lane-1", "dead", "dead"),
    ("lane-2", "pending", "pending"),
    ("lane-3", "completed", "completed"),
    ("lane-4", "pending", "completed"),
    ("lane-5", "pending", "completed"),
];

/// Each with an expiry.
pub const EXPIRING: [Standing; 2] =
    [("expired", "expired", "expired"), ("expires", "pending", "completed")];

/// The destination of all commands in lanes.
const LANES: &str = "to-lanes";
/// The destination of a decision's commands.
const DECIDED: &str = "to-decided";

/// Where a command goes: each has a destination of its own, but for lanes and decisions.
fn destination(id: &str) -> Destination {
    let name = match id {
        _ if id.starts_with("lane") => LANES.to_owned(),
        _ if id.starts_with("s:") => DECIDED.to_owned(),
        _ => format!("to-{id}"),
    };
    Destination::new(&name).unwrap()
}

fn contract(id: &str) -> Contract {
    match id {
        "uncertain" => Contract::new(Idempotent::No),
        "asking" | "asked" => {
            let asking = Asking::new(Span::from_millis(1));
            Contract { ask: Some(asking), ..Contract::new(Idempotent::No) }
        }
        "published" => {
            Contract { completion: Completion::Receipt, ..Contract::new(Idempotent::Forever) }
        }
        "accepted" => {
            Contract { completion: Completion::Accepted, ..Contract::new(Idempotent::Forever) }
        }
        _ => Contract::new(Idempotent::Forever),
    }
}

fn terms_of(id: &str) -> Terms {
    let mut terms = Terms::new(contract(id));
    // Leases run out at once, and nobody waits for the next attempt.
    (terms.pace.initial, terms.pace.lease) = (Span::from_millis(1), Span::from_millis(1));
    if matches!(id, "dead" | "lane-1") {
        terms.pace.max_attempts = 1;
    }
    terms
}

/// Every destination and the contract that is stored for it.
#[must_use]
pub fn destinations() -> Vec<(Destination, Contract)> {
    let all = PLAIN.iter().chain(&IN_LANES).chain(&EXPIRING);
    let mut all: Vec<_> = all.map(|(id, ..)| (destination(id), contract(id))).collect();
    all.dedup_by(|one, other| one.0 == other.0);
    all
}

/// What happened to whatever was claimed.
fn outcome(id: &str) -> Outcome {
    let evidence = "HTTP 200".to_owned();
    match id {
        "dead" | "lane-1" => {
            Outcome::NotSent { reason: "refused".into(), retry_after: None, misconfigured: false }
        }
        "tried" | "asking" | "asked" | "uncertain" => Outcome::unknown("reset"),
        "conflict" => Outcome::Conflict { reason: "HTTP 422".into() },
        "published" | "accepted" => Outcome::Accepted { evidence },
        "rejected" => Outcome::Rejected { reason: "no such order".into(), by: Judge::Receiver },
        _ => Outcome::Completed { result: ResultBody::whole("done"), evidence },
    }
}

/// Brings an empty store to where a command stands in every state.
///
/// # Panics
/// If the store does otherwise.
pub async fn fill<S: Store>(store: &S) {
    let filling = Filling { store };
    for (destination, contract) in destinations() {
        let declared = store.declare(&destination, &contract, false).await.unwrap();
        assert_eq!(declared, Declared::Agreed, "{destination}");
    }
    for (id, ..) in PLAIN.iter().filter(|(id, ..)| !id.starts_with("s:")) {
        filling.plain(id).await;
    }
    filling.decision().await;
    filling.lanes().await;
    filling.expiring().await;
    for (id, state, _) in PLAIN.iter().chain(&IN_LANES).chain(&EXPIRING) {
        let story = store.show(id).await.unwrap().unwrap_or_else(|| panic!("no story of {id}"));
        assert_eq!(story.listed.state, *state, "{id}");
    }
}

/// Does what a person would for all that a relay leaves: retries what is parked, reports what is
/// published, lets the paused one go on. The next relay ends the rest.
///
/// # Panics
/// If the store does otherwise.
pub async fn help<S: Store>(store: &S) {
    let filling = Filling { store };
    for id in ["dead", "conflict", "uncertain", "lane-1"] {
        if store.show(id).await.unwrap().is_some() {
            filling.act(id, Act::Retry { may_act_twice: true }).await;
        }
    }
    filling.report("published", ReceiptOutcome::Completed).await;
    assert!(store.resume(&destination("paused"), "ann", "they are there").await.unwrap());
}

/// A transport that completes every command, and knows each it is asked about as done.
#[derive(Clone, Copy, Debug)]
pub struct CompletesAll;

impl Transport for CompletesAll {
    fn send<'a>(&'a self, _attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(async { outcome("completed") })
    }

    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Answer> {
        let (result, evidence) = (ResultBody::whole("done"), "GET 200".to_owned());
        Box::pin(async { Answer::Done { result, evidence } })
    }

    fn request_timeout(&self) -> Option<Span> {
        Some(Span::from_secs(10))
    }
}

struct Filling<'s, S> {
    store: &'s S,
}

impl<S: Store> Filling<'_, S> {
    async fn enqueue(&self, command: Command) {
        let recorded = self.store.enqueue(vec![command]).await.unwrap();
        assert!(recorded[0].is_ok(), "{recorded:?}");
    }

    /// Claims one command where `id` goes.
    async fn claim(&self, id: &str) -> Claimed {
        let from =
            ClaimFrom { destination: destination(id), limit: 1, terms: Arc::new(terms_of(id)) };
        let exchange = Exchange {
            claim_from: vec![from],
            claim_limit: 1,
            owner: "relay-1".into(),
            ..Exchange::default()
        };
        // It may be due in a moment only.
        for _ in 0..1_000 {
            let mut claimed = self.store.exchange(exchange.clone()).await.unwrap().claimed;
            if let Some(claimed) = claimed.pop() {
                return claimed;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("{id} is never due");
    }

    async fn settle(&self, id: &str, claimed: Claimed) {
        let settle = Settle {
            claimed,
            ended: Ended::Outcome(outcome(id)),
            started_at: self.store.now().unwrap(),
            burns: true,
            seed: Seed(3),
            terms: Arc::new(terms_of(id)),
        };
        let exchange = Exchange { settles: vec![settle], ..Exchange::default() };
        assert_eq!(self.store.exchange(exchange).await.unwrap().settled.len(), 1, "{id}");
    }

    async fn act(&self, id: &str, act: Act) {
        let deed = Deed { command_id: id.into(), act, by_filter: false };
        let actor = Actor { name: "ann".into(), reason: "asked by phone".into() };
        let acted = self.store.act(vec![deed], actor).await.unwrap();
        assert!(matches!(acted[0], Acted::Done { .. }), "{id}: {acted:?}");
    }

    async fn report(&self, id: &str, outcome: ReceiptOutcome) {
        let report = Report {
            outcome,
            result: Some(b"job 7".to_vec()),
            evidence: Some("the worker said so".into()),
            source: "report".into(),
            token: None,
            equals_earlier: false,
        };
        self.store.report(&CommandId::new(id).unwrap(), report).await.unwrap();
    }

    async fn plain(&self, id: &str) {
        self.enqueue(command(id)).await;
        match id {
            "pending" => {}
            "sending" => drop(self.claim(id).await),
            "cancelled" => self.act(id, Act::Cancel).await,
            "contradicted" => {
                self.report(id, ReceiptOutcome::Completed).await;
                self.report(id, ReceiptOutcome::Rejected).await;
                // Somebody has looked into it, so that the audit holds.
                self.act(id, Act::Resolve(Verdict::Completed { result: None })).await;
            }
            "paused" => {
                assert!(self.store.pause(&destination(id), "ann", "they move").await.unwrap());
            }
            _ => {
                let claimed = self.claim(id).await;
                self.settle(id, claimed).await;
            }
        }
        match id {
            "asked" => drop(self.claim(id).await),
            "redelivered" => self.act(id, Act::Redeliver { may_act_twice: true }).await,
            _ => {}
        }
    }

    async fn decision(&self) {
        let stream = Stream::new("s").unwrap();
        let kinds = ["placed", "paid"];
        let events = kinds.map(|kind| Event::json(kind, &1).unwrap()).to_vec();
        let unnamed = || Command::unnamed(DECIDED, "k", &1).unwrap();
        let commands = vec![unnamed(), unnamed()];
        let append = Append { stream, expected_seq: 0, events, commands };
        self.store.append(append).await.unwrap().unwrap();
        let claimed = self.claim("s:2:0").await;
        self.settle("s:2:0", claimed).await;
    }

    async fn lanes(&self) {
        for (id, key) in [("lane-1", "A"), ("lane-3", "B")] {
            self.enqueue(in_lane(id, key)).await;
            let claimed = self.claim(id).await;
            self.settle(id, claimed).await;
        }
        for (id, key) in [("lane-2", "A"), ("lane-4", "B"), ("lane-5", "B")] {
            self.enqueue(in_lane(id, key)).await;
        }
    }

    async fn expiring(&self) {
        let later = |span| Some(self.store.now().unwrap().plus(span));
        let expires = later(Span::from_secs(7 * 86_400));
        self.enqueue(Command { expires_at: expires, ..command("expires") }).await;
        let expires = later(Span::from_millis(1));
        self.enqueue(Command { expires_at: expires, ..command("expired") }).await;
        for _ in 0..1_000 {
            if !self.store.sweep(100, None).await.unwrap().expired.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("nothing expires");
    }
}

fn command(id: &str) -> Command {
    let to = destination(id);
    Command::bytes(id, to.as_str(), "order.paid", format!("body of {id}")).unwrap()
}

fn in_lane(id: &str, key: &str) -> Command {
    Command { ordering_key: Some(OrderingKey::new(key).unwrap()), ..command(id) }
}
