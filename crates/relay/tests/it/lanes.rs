//! Lanes end to end: many relays, killed and begun again, and a receiver that keeps a log.
//!
//! Guarantees: the log is the receiver's own, so what it shows is what was sent: never two of a
//! lane in flight, and the order of effects is the order of commits. Does not: test how a store
//! finds whose turn it is; its suite does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::id::OrderingKey;
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Contract, Destination, Idempotent, Judge, Outcome, ReceiptOutcome, ResultBody, Span, Terms,
};
use counterfoil_core::port::act::{Act, Acted, Actor, Deed};
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::{Attempt, BoxFuture, Clock, Quiet, Store, SystemClock, Transport};
use counterfoil_relay::{Limits, Options, Relay, Served};
use counterfoil_sqlite::{Options as FileOptions, SqliteStore};
use counterfoil_testkit::{ManualClock, MemoryStore};

use crate::scene::paid;

const RELAYS: usize = 8;
const KEYS: usize = 6;
/// Commands of each key at each destination.
const LENGTH: usize = 20;
const BLOCK: &str = "block";
const SKIP: &str = "skip";

/// What a command's number makes its first attempt come to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    /// Refused until a person retries it.
    Parked,
    /// It acts, and nobody hears of it.
    Lost,
    NotSent,
    /// Taken on; the report comes later.
    Reported,
}

fn fate(number: usize) -> Fate {
    match number {
        _ if number % 10 == 4 => Fate::Parked,
        _ if number % 11 == 5 => Fate::Lost,
        _ if number % 13 == 6 => Fate::NotSent,
        _ if number % 7 == 3 => Fate::Reported,
        _ => Fate::Done,
    }
}

/// What the receiver wrote down.
#[derive(Default)]
struct Log {
    /// By lane: the commands under way.
    in_flight: BTreeMap<String, Vec<usize>>,
    /// By lane: the commands that acted, in order.
    acted: BTreeMap<String, Vec<usize>>,
    seen: BTreeMap<(String, usize), usize>,
    wrong: Vec<String>,
}

/// The receiver of both destinations.
struct Receiver<S> {
    store: S,
    log: Arc<Mutex<Log>>,
}

/// A command under way, until this is dropped.
struct Flight {
    log: Arc<Mutex<Log>>,
    lane: String,
    number: usize,
}

impl Flight {
    fn begin(log: &Arc<Mutex<Log>>, lane: &str, number: usize) -> Self {
        let mut book = log.lock().unwrap();
        let others = book.in_flight.entry(lane.to_owned()).or_default();
        let wrong = others.iter().any(|other| *other != number);
        others.push(number);
        if wrong {
            let said = format!("{lane}: {number} with {:?}", book.in_flight[lane]);
            book.wrong.push(said);
        }
        Self { log: Arc::clone(log), lane: lane.to_owned(), number }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut book = self.log.lock().unwrap();
        let others = book.in_flight.get_mut(&self.lane).unwrap();
        let place = others.iter().position(|one| *one == self.number).unwrap();
        others.remove(place);
    }
}

impl<S: Store> Receiver<S> {
    async fn receive(&self, attempt: &Attempt) -> Outcome {
        if attempt.gate.begin().is_err() {
            return Outcome::not_sent("withdrawn");
        }
        let id = attempt.command.command_id.as_str();
        let (lane, number) = id.rsplit_once('-').unwrap();
        let number: usize = number.parse().unwrap();
        let flight = Flight::begin(&self.log, lane, number);
        tokio::time::sleep(Duration::from_millis(1 + number as u64 % 5)).await;
        let fate = {
            let mut book = self.log.lock().unwrap();
            let times = book.seen.entry((lane.to_owned(), number)).or_default();
            *times += 1;
            let once = *times == 1;
            let fate = fate(number);
            let fate = if once || fate == Fate::Reported { fate } else { Fate::Done };
            let acted = book.acted.entry(lane.to_owned()).or_default();
            if !matches!(fate, Fate::Parked | Fate::NotSent) && !acted.contains(&number) {
                acted.push(number);
            }
            fate
        };
        let evidence = "the receiver said so".to_owned();
        match fate {
            Fate::Done => Outcome::Completed { result: ResultBody::default(), evidence },
            Fate::Parked => Outcome::Rejected { reason: "HTTP 400".into(), by: Judge::Status },
            Fate::Lost => Outcome::unknown("the answer was lost"),
            Fate::NotSent => Outcome::not_sent("connection refused"),
            Fate::Reported => {
                self.report_later(attempt, flight);
                Outcome::Accepted { evidence }
            }
        }
    }

    fn report_later(&self, attempt: &Attempt, flight: Flight) {
        let (store, id) = (self.store.clone(), attempt.command.command_id.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(30)).await;
            drop(flight);
            let report = Report {
                outcome: ReceiptOutcome::Completed,
                result: None,
                evidence: None,
                source: "the receiver".into(),
                token: None,
                equals_earlier: false,
            };
            store.report(&id, report).await.unwrap();
        });
    }
}

impl<S: Store> Transport for Receiver<S> {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(self.receive(attempt))
    }

    fn request_timeout(&self) -> Option<Span> {
        Some(Span::from_millis(300))
    }
}

fn terms(on_parked: OnParked) -> Terms {
    let mut terms = Terms::new(Contract::new(Idempotent::Forever));
    terms.contract.on_parked = on_parked;
    terms.pace.initial = Span::from_millis(5);
    terms.pace.max = Span::from_millis(50);
    terms.pace.lease = Span::from_millis(2_400);
    terms
}

/// One relay on a store of its own.
fn relay<S: Store>(
    store: S,
    log: &Arc<Mutex<Log>>,
    clock: Arc<dyn Clock>,
    seed: u64,
) -> tokio::task::JoinHandle<()> {
    let receiver = Arc::new(Receiver { store: store.clone(), log: Arc::clone(log) });
    let served = [(BLOCK, OnParked::Block), (SKIP, OnParked::Skip)].map(|(name, on_parked)| {
        let destination = Destination::new(name).unwrap();
        Served::new(destination, terms(on_parked), receiver.clone() as Arc<dyn Transport>)
            .limits(Limits::default().concurrency(4))
    });
    let options = Options::default().workers(8).seed(seed).clock(clock);
    let relay = Relay::new(store, served.into(), options, Quiet);
    tokio::spawn(async move { drop(relay.run(std::future::pending()).await) })
}

/// A person retries what is parked, all the time.
async fn retry<S: Store>(store: S) {
    loop {
        tokio::time::sleep(Duration::from_millis(250)).await;
        let parked = Filter { state: Some("parked".into()), ..Filter::default() };
        let parked = store.list(parked).await.unwrap();
        let deed = |command_id| {
            let act = Act::Retry { may_act_twice: false };
            Deed { command_id, act, by_filter: false }
        };
        let deeds = parked.into_iter().map(|row| deed(row.command_id)).collect();
        let ann = Actor { name: "ann".into(), reason: "mended".into() };
        let acted = store.act(deeds, ann).await.unwrap();
        assert!(acted.iter().all(|one| !matches!(one, Acted::Unknown)), "{acted:?}");
    }
}

async fn write<S: Store>(store: S) {
    for number in 0..LENGTH {
        for key in 0..KEYS {
            for destination in [BLOCK, SKIP] {
                let lane = format!("{destination}.{key}");
                let command = paid(destination, &format!("{lane}-{number}"));
                let key = OrderingKey::new(lane).unwrap();
                let recorded = store.enqueue(vec![command.ordering_key(key)]).await.unwrap();
                assert!(recorded[0].is_ok(), "{recorded:?}");
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn left<S: Store>(store: &S) -> u64 {
    let status = store.status().await.unwrap();
    let states = status.destinations.values().flatten();
    states.filter(|(name, _)| *name != "completed").map(|(_, count)| count).sum()
}

/// Runs all of it on stores that `open` opens, with so many kills.
async fn run<S: Store>(open: impl Fn() -> S, clock: Arc<dyn Clock>, kills: usize) {
    let (log, store) = (Arc::<Mutex<Log>>::default(), open());
    let writer = tokio::spawn(write(store.clone()));
    let person = tokio::spawn(retry(store.clone()));
    let mut seed = 0;
    let mut begin = || {
        seed += 1;
        relay(open(), &log, Arc::clone(&clock), seed)
    };
    let mut relays: Vec<_> = (0..RELAYS).map(|_| begin()).collect();
    for kill in 0..kills {
        tokio::time::sleep(Duration::from_millis(130)).await;
        let place = kill * 5 % RELAYS;
        relays[place].abort();
        assert!((&mut relays[place]).await.unwrap_err().is_cancelled(), "it had ended by itself");
        relays[place] = begin();
    }
    writer.await.unwrap();
    let began = tokio::time::Instant::now();
    while left(&store).await > 0 {
        let waited = began.elapsed();
        assert!(waited < Duration::from_secs(90), "{} left after {waited:?}", left(&store).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    relays.iter().for_each(tokio::task::JoinHandle::abort);
    person.abort();
    let report = audit(&store, AuditOptions::default()).await.unwrap();
    assert!(report.holds, "{report:?}");
    check(&log.lock().unwrap());
}

fn check(log: &Log) {
    assert!(log.wrong.is_empty(), "two of a lane in flight: {:?}", log.wrong);
    assert_eq!(log.acted.len(), 2 * KEYS);
    for (lane, acted) in &log.acted {
        let all: BTreeSet<_> = acted.iter().copied().collect();
        assert_eq!(all.len(), LENGTH, "{lane}: {acted:?}");
        // Behind a head that blocks, the order is that of commits; one that is skipped comes
        // later, and all others keep theirs.
        let skips = lane.starts_with(SKIP);
        let ordered = acted.iter().filter(|number| !skips || fate(**number) != Fate::Parked);
        let ordered: Vec<_> = ordered.copied().collect();
        assert!(ordered.is_sorted(), "{lane}: {acted:?}");
    }
    assert!(log.acted.values().any(|acted| !acted.is_sorted()), "nothing was skipped");
    assert!(log.seen.values().filter(|times| **times > 1).count() > 2 * KEYS, "no resends");
}

#[tokio::test(start_paused = true)]
async fn eight_relays_keep_the_order_of_lanes_in_memory() {
    let clock = ManualClock::running();
    let store = MemoryStore::new(clock.clone());
    Box::pin(run(|| store.reopen(clock.clone()), Arc::new(clock.clone()), 40)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_relays_keep_the_order_of_lanes_on_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    drop(SqliteStore::init(&path, None).unwrap());
    Box::pin(run(
        || SqliteStore::open(&path, FileOptions::default()).unwrap(),
        Arc::new(SystemClock),
        24,
    ))
    .await;
}
