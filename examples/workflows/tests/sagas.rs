//! A saga beside a real relay, when its undo is refused or nobody knows, when it is late or
//! cancelled on its way back, and when a gateway speaks for the receiver. On both stores.
//!
//! Guarantees: what was asked of the far end is counted there, and the audit holds at each end.
//! Does not: kill anything.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

use std::sync::Arc;
use std::time::Duration;

use counterfoil::audit::{AuditOptions, audit};
use counterfoil::domain::transition::Verdict;
use counterfoil::port::{Act, Actor, Deed};
use counterfoil::postgres::PostgresStore;
use counterfoil::relay::{self, Relay, Served};
use counterfoil::sqlite::SqliteStore;
use counterfoil::testing::{Receiver, Script, ScriptedTransport};
use counterfoil::workflow::{
    InputKind, NewInput, Runner, Saga, Status, Step, Unnamed, Workflow, Workflows,
};
use counterfoil::{Contract, Destination, Idempotent, Judge, Outcome, Quiet, Span, Stream, Terms};
use serde_json::{Value, json};

const SERVER: &str = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable";
const OF: &str = "trip-1";

fn ask(label: &'static str) -> Step<Value> {
    Step::new(label, move |start, _| Unnamed::json("far", label, start))
        .undo(move |start, _| Unnamed::json("far", format!("{label}.undo"), start))
}

/// Lock, flight, charge; each can be undone.
fn trip() -> Saga<Value> {
    Saga::new("trip").step(ask("lock")).step(ask("flight")).step(ask("charge"))
}

fn refused() -> Script {
    Script::answer(Outcome::Rejected { reason: "no".into(), by: Judge::Receiver })
}

/// A store, and the far end of its commands.
struct Site<S> {
    store: S,
    far: Arc<ScriptedTransport>,
    idempotent: Idempotent,
}

impl<S: Workflows> Site<S> {
    fn new(store: S) -> Self {
        let far = Arc::new(ScriptedTransport::new(Arc::new(Receiver::with_keys())));
        Self { store, far, idempotent: Idempotent::Forever }
    }

    async fn send(&self, id: &str, kind: InputKind, name: &str, body: &Value) {
        let body = Some(body.to_string().into_bytes());
        let (stream, id, name) = (Stream::new(OF).unwrap(), id.to_owned(), name.to_owned());
        let sent = self.store.send_inputs(vec![NewInput { stream, id, kind, name, body }]).await;
        sent.unwrap().remove(0).unwrap();
    }

    async fn start(&self) {
        self.send("start", InputKind::Start, "trip", &json!({})).await;
    }

    /// Decides what is due.
    async fn decide(&self, saga: impl Workflow) {
        let runner = Runner::builder(self.store.clone()).workflow(saga).observer(Quiet);
        runner.build().unwrap().run_until_idle().await.unwrap();
    }

    /// The id of the newest command of this kind.
    async fn id(&self, kind: &str) -> Option<String> {
        let issued = self.store.issued(&Stream::new(OF).unwrap(), (0, -1), 100).await.unwrap();
        let of_kind = issued.iter().rev().find(|issued| issued.kind == kind);
        of_kind.map(|issued| format!("{OF}:{}:{}", issued.seq, issued.idx))
    }

    async fn kinds(&self) -> Vec<String> {
        let issued = self.store.issued(&Stream::new(OF).unwrap(), (0, -1), 100).await.unwrap();
        issued.into_iter().map(|issued| issued.kind).collect()
    }

    async fn state(&self, id: &str) -> String {
        self.store.show(id).await.unwrap().unwrap().listed.state
    }

    /// Delivers the newest command of this kind until it is no longer on its way.
    async fn deliver(&self, kind: &str) -> String {
        let id = self.id(kind).await.unwrap_or_else(|| panic!("no {kind} was asked"));
        let mut terms = Terms::new(Contract::new(self.idempotent.clone()));
        terms.pace.initial = Span::from_millis(1);
        let far: Arc<dyn counterfoil::Transport> = Arc::clone(&self.far) as _;
        let served = Served::new(Destination::new("far").unwrap(), terms, far);
        let relay = Relay::new(self.store.clone(), vec![served], relay::Options::default(), Quiet);
        let done = async {
            while ["pending", "sending"].contains(&self.state(&id).await.as_str()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let within = tokio::time::timeout(Duration::from_secs(60), relay.run(done));
        within.await.expect("it is not delivered").unwrap();
        self.state(&id).await
    }

    async fn resolve(&self, kind: &str, verdict: Verdict) {
        let command_id = self.id(kind).await.unwrap();
        let deed = Deed { command_id, act: Act::Resolve(verdict), by_filter: false };
        let actor = Actor { name: "ann".into(), reason: "I have called them".into() };
        self.store.act(vec![deed], actor).await.unwrap();
    }

    async fn status(&self) -> Status {
        self.store.workflow(OF).await.unwrap().unwrap().status.unwrap()
    }

    /// Each of these kinds acted so often at the far end, and the audit holds.
    async fn is_over(&self, status: Status, effects: &[(&str, u64)]) {
        assert_eq!(self.status().await, status);
        for (kind, times) in effects {
            let id = self.id(kind).await.unwrap_or_else(|| panic!("no {kind} was asked"));
            assert_eq!(self.far.receiver().effects(&id), *times, "{kind}");
        }
        let report = audit(&self.store, AuditOptions::default()).await.unwrap();
        assert!(report.holds, "{:?}", report.violations);
    }

    /// As far as the charge, which is refused: the flight's undo is asked.
    async fn turned_back(&self) {
        self.start().await;
        for kind in ["lock", "flight"] {
            self.decide(trip()).await;
            assert_eq!(self.deliver(kind).await, "completed");
        }
        self.decide(trip()).await;
        self.far.script(&self.id("charge").await.unwrap(), refused());
        assert_eq!(self.deliver("charge").await, "rejected");
        self.decide(trip()).await;
        assert_eq!(self.kinds().await.last().unwrap(), "flight.undo");
    }
}

async fn an_undo_that_is_refused_waits_for_a_person<S: Workflows>(site: Site<S>) {
    site.turned_back().await;
    site.far.script(&site.id("flight.undo").await.unwrap(), refused());
    assert_eq!(site.deliver("flight.undo").await, "rejected");
    site.decide(trip()).await;
    assert_eq!(site.kinds().await.last().unwrap(), "flight.undo", "nothing else is undone");
    assert_eq!(site.status().await, Status::Running);
    let step = json!({"step": "flight"});
    site.send("again", InputKind::Signal, "undo_again", &step).await;
    site.decide(trip()).await;
    site.far.script(&site.id("flight.undo").await.unwrap(), refused());
    assert_eq!(site.deliver("flight.undo").await, "rejected");
    site.decide(trip()).await;
    site.send("by hand", InputKind::Signal, "undone", &step).await;
    site.decide(trip()).await;
    assert_eq!(site.deliver("lock.undo").await, "completed");
    site.decide(trip()).await;
    site.is_over(Status::Failed, &[("lock", 1), ("lock.undo", 1), ("flight.undo", 0)]).await;
}

async fn an_undo_of_which_nobody_knows_is_not_passed_over<S: Workflows>(mut site: Site<S>) {
    site.idempotent = Idempotent::No;
    site.turned_back().await;
    site.far.script(&site.id("flight.undo").await.unwrap(), Script::lose_answer());
    assert_eq!(site.deliver("flight.undo").await, "uncertain");
    site.decide(trip()).await;
    assert_eq!(site.kinds().await.last().unwrap(), "flight.undo", "nothing else is undone");
    assert_eq!(site.status().await, Status::Running);
    site.resolve("flight.undo", Verdict::Completed { result: None }).await;
    site.decide(trip()).await;
    assert_eq!(site.deliver("lock.undo").await, "completed");
    site.decide(trip()).await;
    site.is_over(Status::Failed, &[("flight.undo", 1), ("lock.undo", 1)]).await;
    assert_eq!(site.kinds().await.len(), 5);
}

async fn a_cancel_while_it_goes_back_changes_nothing<S: Workflows>(site: Site<S>) {
    site.turned_back().await;
    site.send("cancel", InputKind::Cancel, "cancel", &json!("rain")).await;
    site.decide(trip()).await;
    assert_eq!(site.deliver("flight.undo").await, "completed");
    site.send("cancel-2", InputKind::Cancel, "cancel", &json!("more rain")).await;
    site.decide(trip()).await;
    assert_eq!(site.deliver("lock.undo").await, "completed");
    site.decide(trip()).await;
    site.is_over(Status::Failed, &[("flight.undo", 1), ("lock.undo", 1)]).await;
    assert_eq!(site.kinds().await.len(), 5, "each undo is asked once");
}

/// The first try acts and its answer is lost; the second one hears a gateway's 404.
async fn a_gateways_404_after_an_unknown_starts_no_undo<S: Workflows>(site: Site<S>) {
    site.start().await;
    site.decide(trip()).await;
    assert_eq!(site.deliver("lock").await, "completed");
    site.decide(trip()).await;
    let flight = site.id("flight").await.unwrap();
    site.far.script(&flight, Script::lose_answer());
    let gateway = Outcome::Rejected { reason: "HTTP 404".into(), by: Judge::Status };
    site.far.script(&flight, Script::answer(gateway));
    assert_eq!(site.deliver("flight").await, "uncertain");
    assert_eq!(site.far.sends(&flight), 2);
    site.decide(trip()).await;
    assert_eq!(site.kinds().await, ["lock", "flight"], "no undo");
    assert_eq!(site.status().await, Status::Running);
    site.resolve("flight", Verdict::Completed { result: Some(b"\"seat 1\"".to_vec()) }).await;
    site.decide(trip()).await;
    assert_eq!(site.deliver("charge").await, "completed");
    site.decide(trip()).await;
    site.is_over(Status::Completed, &[("lock", 1), ("flight", 1), ("charge", 1)]).await;
}

/// Without a doubt the same status is a refusal, and the saga goes back.
async fn a_404_without_a_doubt_is_a_refusal<S: Workflows>(site: Site<S>) {
    site.start().await;
    site.decide(trip()).await;
    assert_eq!(site.deliver("lock").await, "completed");
    site.decide(trip()).await;
    let gateway = Outcome::Rejected { reason: "HTTP 404".into(), by: Judge::Status };
    site.far.script(&site.id("flight").await.unwrap(), Script::answer(gateway));
    assert_eq!(site.deliver("flight").await, "rejected");
    site.decide(trip()).await;
    assert_eq!(site.kinds().await, ["lock", "flight", "lock.undo"]);
    assert_eq!(site.deliver("lock.undo").await, "completed");
    site.decide(trip()).await;
    site.is_over(Status::Failed, &[("lock", 1), ("lock.undo", 1), ("flight", 0)]).await;
}

/// A step's deadline, or the saga's own, passes before anybody has seen the flight.
async fn late<S: Workflows>(site: Site<S>, saga: impl Fn() -> Saga<Value>, why: &str) {
    site.start().await;
    site.decide(saga()).await;
    assert_eq!(site.deliver("lock").await, "completed");
    site.decide(saga()).await;
    assert_eq!(site.kinds().await, ["lock", "flight"]);
    tokio::time::sleep(Duration::from_millis(3_100)).await;
    site.decide(saga()).await;
    site.decide(saga()).await;
    let flight = site.id("flight").await.unwrap();
    assert_eq!(site.state(&flight).await, "cancelled");
    assert_eq!(site.kinds().await, ["lock", "flight", "lock.undo"]);
    assert_eq!(site.deliver("lock.undo").await, "completed");
    site.decide(saga()).await;
    assert_eq!(site.far.sends(&flight), 0);
    let stream = Stream::new(OF).unwrap();
    let events = site.store.load(&stream, 0, 100).await.unwrap();
    let said = |event: &counterfoil::EventRow| String::from_utf8_lossy(&event.body).contains(why);
    assert!(events.iter().any(said), "{events:?}");
    site.is_over(Status::Failed, &[("lock", 1), ("lock.undo", 1)]).await;
}

async fn a_step_that_is_late_turns_the_saga_back<S: Workflows>(site: Site<S>) {
    let within = Span::from_millis(3_000);
    let saga = move || {
        let flight = ask("flight").within(within);
        Saga::new("trip").step(ask("lock")).step(flight).step(ask("charge"))
    };
    late(site, saga, "flight was not done in time").await;
}

async fn a_saga_that_is_late_goes_back<S: Workflows>(site: Site<S>) {
    let saga = || trip().within(Span::from_millis(3_000));
    late(site, saga, "the deadline of the saga has passed").await;
}

/// What somebody may have seen is not given up at its deadline: its fate is waited for.
async fn a_late_step_that_was_sent_is_waited_for_and_undone<S: Workflows>(mut site: Site<S>) {
    site.idempotent = Idempotent::No;
    let saga = || {
        let flight = ask("flight").within(Span::from_secs(2));
        Saga::new("trip").step(ask("lock")).step(flight).step(ask("charge"))
    };
    site.start().await;
    site.decide(saga()).await;
    assert_eq!(site.deliver("lock").await, "completed");
    site.decide(saga()).await;
    site.far.script(&site.id("flight").await.unwrap(), Script::lose_answer());
    assert_eq!(site.deliver("flight").await, "uncertain");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    site.decide(saga()).await;
    assert_eq!(site.kinds().await, ["lock", "flight"], "nothing is undone in the dark");
    site.resolve("flight", Verdict::Completed { result: None }).await;
    site.decide(saga()).await;
    for kind in ["flight.undo", "lock.undo"] {
        assert_eq!(site.deliver(kind).await, "completed");
        site.decide(saga()).await;
    }
    site.is_over(Status::Failed, &[("flight", 1), ("flight.undo", 1), ("lock.undo", 1)]).await;
}

/// A schema that goes with its test.
struct Schema(String);

impl Schema {
    fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Self(format!("test_cf_{}_{:x}_{next}", std::process::id(), since.as_nanos()))
    }

    async fn site(&self) -> Site<PostgresStore> {
        let mut options = counterfoil::postgres::Options::default();
        options.schema.clone_from(&self.0);
        Site::new(PostgresStore::init(&url(), options, None).await.unwrap())
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.0);
        let dropping = std::thread::spawn(move || {
            tokio::runtime::Runtime::new().unwrap().block_on(async {
                let connected = tokio_postgres::connect(&url(), tokio_postgres::NoTls).await;
                let (client, connection) = connected.expect("this test needs PostgreSQL");
                tokio::spawn(connection);
                client.batch_execute(&sql).await.unwrap();
            });
        });
        drop(dropping.join());
    }
}

fn url() -> String {
    std::env::var("COUNTERFOIL_TEST_POSTGRES").unwrap_or_else(|_| SERVER.into())
}

macro_rules! on_both_stores {
    ($($case:ident)*) => {
        mod on_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let folder = tempfile::tempdir().unwrap();
                    let store = super::SqliteStore::init(folder.path().join("app.db"), None);
                    super::$case(super::Site::new(store.unwrap())).await;
                }
            )*
        }
        mod on_postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let schema = super::Schema::new();
                    super::$case(schema.site().await).await;
                }
            )*
        }
    };
}

on_both_stores! {
    an_undo_that_is_refused_waits_for_a_person
    an_undo_of_which_nobody_knows_is_not_passed_over
    a_cancel_while_it_goes_back_changes_nothing
    a_gateways_404_after_an_unknown_starts_no_undo
    a_404_without_a_doubt_is_a_refusal
    a_step_that_is_late_turns_the_saga_back
    a_saga_that_is_late_goes_back
    a_late_step_that_was_sent_is_waited_for_and_undone
}
