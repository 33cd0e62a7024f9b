//! Relays at work on a server that fails, their receivers, their writers, and the proof at the end.
//!
//! Guarantees: receivers remember every call, in order; writers write the same id again until they
//! are told that it stands. Does not: retry anything that the library should retry.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use counterfoil_core::audit::{AuditOptions, Expect, audit};
use counterfoil_core::domain::{Command, Contract, Destination, Idempotent, Span, Terms};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Attempt, Notice, Observer, Store};
use counterfoil_postgres::{PostgresStore, migrate};
use counterfoil_relay::transport::handler::{HandlerError, handler};
use counterfoil_relay::{Options, Relay, RelayEnd, RelayError, Served};
use counterfoil_testkit::random_history::first_seed;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

/// A destination that folds repeats.
pub(crate) const KEYS: &str = "keys";
/// A destination that acts on every call.
pub(crate) const KEYLESS: &str = "keyless";
/// The schema of a private server.
pub(crate) const SCHEMA: &str = "counterfoil";

/// What the receivers were called for.
#[derive(Clone, Default)]
pub(crate) struct Book(Arc<Mutex<Vec<(String, String)>>>);

impl Book {
    /// All calls, `(destination, id)`, in order.
    pub(crate) fn calls(&self) -> Vec<(String, String)> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn note(&self, attempt: &Attempt) {
        let command = &attempt.command;
        let call = (command.destination.to_string(), command.command_id.to_string());
        self.0.lock().unwrap().push(call);
    }

    /// A call that another process has told of.
    pub(crate) fn note_id(&self, id: &str) {
        self.0.lock().unwrap().push((String::new(), id.to_owned()));
    }

    /// How often each id was called.
    pub(crate) fn times(&self) -> BTreeMap<String, usize> {
        let mut times = BTreeMap::new();
        for (_, id) in self.calls() {
            *times.entry(id).or_default() += 1;
        }
        times
    }

    /// A destination whose handler takes so long.
    pub(crate) fn serves(&self, name: &str, took: Duration, lease: Span) -> Served {
        let (book, idempotent) = (self.clone(), promise(name));
        let transport = handler(move |attempt: Attempt| {
            book.note(&attempt);
            async move {
                tokio::time::sleep(took).await;
                Ok::<_, HandlerError>("done")
            }
        });
        served(name, idempotent, lease, transport)
    }

    /// Both destinations.
    pub(crate) fn both(&self, took: Duration, lease: Span) -> Vec<Served> {
        [KEYS, KEYLESS].map(|name| self.serves(name, took, lease)).to_vec()
    }
}

/// What a destination guarantees.
pub(crate) fn promise(name: &str) -> Idempotent {
    if name.starts_with(KEYLESS) { Idempotent::No } else { Idempotent::Forever }
}

pub(crate) fn served(
    name: &str,
    idempotent: Idempotent,
    lease: Span,
    transport: impl counterfoil_core::port::Transport + 'static,
) -> Served {
    let mut terms = Terms::new(Contract::new(idempotent));
    (terms.pace.initial, terms.pace.lease) = (Span::from_millis(1), lease);
    Served::new(Destination::new(name).unwrap(), terms, Arc::new(transport))
}

/// A command to a destination.
pub(crate) fn command(destination: &str, id: &str) -> Command {
    Command::json(id, destination, "order", &serde_json::json!({ "order": id })).unwrap()
}

/// Everything that a relay announced.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Notice>>>);

impl Heard {
    pub(crate) fn count(&self, which: impl Fn(&Notice) -> bool) -> usize {
        self.0.lock().unwrap().iter().filter(|notice| which(notice)).count()
    }
}

impl Observer for Heard {
    fn notice(&self, notice: &Notice) {
        self.0.lock().unwrap().push(notice.clone());
    }
}

/// A relay at work.
pub(crate) struct AtWork {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<RelayEnd, RelayError>>,
    pub(crate) heard: Heard,
}

impl AtWork {
    pub(crate) fn start(store: &PostgresStore, served: Vec<Served>, options: Options) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let heard = Heard::default();
        let relay = Relay::new(store.clone(), served, options, heard.clone());
        let stopped = async move { stopped.await.unwrap_or(()) };
        Self { stop, task: tokio::spawn(relay.run(stopped)), heard }
    }

    /// Stops it; it must have gone on until now.
    pub(crate) async fn stop(self) -> RelayEnd {
        assert!(!self.task.is_finished(), "it ended by itself: {:?}", self.task.await.unwrap());
        drop(self.stop);
        self.task.await.unwrap().unwrap()
    }
}

/// Makes the schema at a server that is private, with a table of the user's own.
pub(crate) async fn prepared(url: &str) {
    let mut client = crate::server::connect_to(url).await;
    migrate(&mut client, SCHEMA, Some("urn:test")).await.unwrap();
    client.batch_execute("CREATE TABLE orders(id text PRIMARY KEY)").await.unwrap();
}

/// The kind of what strangers write beside a row of their own.
const PAID: &str = "paid";

/// Writers that go on until they are told to stop; each knows what it was told that it stands.
pub(crate) struct Writers {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Vec<String>>>,
    /// What the store said where it gave no answer.
    pub(crate) errors: Arc<Mutex<Vec<StoreError>>>,
}

impl Writers {
    /// Two that go by the store, and two strangers that write a row of their own beside.
    pub(crate) fn start(store: &PostgresStore, url: &str, pause: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let errors = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for writer in 0..2 {
            let writing = Writing { writer, pause, stop: Arc::clone(&stop) };
            tasks.push(tokio::spawn(writing.by_store(store.clone(), Arc::clone(&errors))));
            let writing = Writing { writer: writer + 2, pause, stop: Arc::clone(&stop) };
            tasks.push(tokio::spawn(writing.beside_a_row(url.to_owned())));
        }
        Self { stop, tasks, errors }
    }

    /// Lets each finish its command; the ids of all that stand.
    pub(crate) async fn stop(self) -> Vec<String> {
        self.stop.store(true, Ordering::SeqCst);
        let mut ids = Vec::new();
        for task in self.tasks {
            ids.extend(task.await.unwrap());
        }
        ids
    }
}

struct Writing {
    writer: usize,
    pause: Duration,
    stop: Arc<AtomicBool>,
}

impl Writing {
    fn next(&self, number: usize) -> Option<(String, &'static str)> {
        let destination = if number.is_multiple_of(2) { KEYS } else { KEYLESS };
        let goes_on = !self.stop.load(Ordering::SeqCst);
        goes_on.then(|| (format!("{}-{number}", self.writer), destination))
    }

    async fn by_store(
        self,
        store: PostgresStore,
        errors: Arc<Mutex<Vec<StoreError>>>,
    ) -> Vec<String> {
        let mut ids = Vec::new();
        while let Some((id, destination)) = self.next(ids.len()) {
            loop {
                match store.enqueue(vec![command(destination, &id)]).await {
                    Ok(recorded) => break assert!(recorded[0].is_ok(), "{recorded:?}"),
                    Err(error) => errors.lock().unwrap().push(error),
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            ids.push(id);
            tokio::time::sleep(self.pause).await;
        }
        ids
    }

    async fn beside_a_row(self, url: String) -> Vec<String> {
        let mut ids = Vec::new();
        let mut client = None;
        while let Some((id, destination)) = self.next(ids.len()) {
            let sql = format!(
                "BEGIN; INSERT INTO orders VALUES ('{id}') ON CONFLICT DO NOTHING;
                 SELECT {SCHEMA}.enqueue('{id}', '{destination}', '{PAID}', '{{}}'); COMMIT"
            );
            loop {
                if client.is_none() {
                    client = connected(&url).await;
                }
                match &client {
                    Some(connected) if connected.batch_execute(&sql).await.is_ok() => break,
                    _ => client = None,
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            ids.push(id);
            tokio::time::sleep(self.pause).await;
        }
        ids
    }
}

/// A connection, where the server gives one now.
pub(crate) async fn connected(url: &str) -> Option<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.ok()?;
    tokio::spawn(connection);
    Some(client)
}

/// Waits until machines have nothing left to do; two minutes at most.
pub(crate) async fn wait_for_the_end(url: &str, schema: &str) {
    let client = crate::server::connect_to(url).await;
    let open = format!(
        "SELECT count(*) FROM {schema}.delivery
         WHERE state NOT IN ('uncertain', 'dead', 'conflict')"
    );
    let began = Instant::now();
    loop {
        let left: i64 = client.query_one(&open, &[]).await.unwrap().get(0);
        if left == 0 {
            return;
        }
        if began.elapsed() > Duration::from_secs(120) {
            let rows = format!("SELECT string_agg(d::text, ' ') FROM {schema}.delivery d");
            let rows: Option<String> = client.query_one(&rows, &[]).await.unwrap().get(0);
            panic!("{left} are left: {rows:?}");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What an end came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) completed: usize,
    pub(crate) uncertain: usize,
}

/// Proves that each of `ids` ended as its contract promises, that nothing else stands or was
/// called, and that the audit holds.
pub(crate) async fn prove(
    store: &PostgresStore,
    url: &str,
    schema: &str,
    book: &Book,
    ids: &[String],
) -> Ends {
    let client = crate::server::connect_to(url).await;
    let sql = format!(
        "SELECT o.command_id, o.destination, coalesce(r.outcome, d.state)
         FROM {schema}.outbox o LEFT JOIN {schema}.receipt r USING (n)
         LEFT JOIN {schema}.delivery d USING (n)"
    );
    let rows = client.query(&sql, &[]).await.unwrap();
    let stand: BTreeSet<&str> = rows.iter().map(|row| row.get(0)).collect();
    let told: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(stand, told, "what stands is not what its writers were told");
    assert_eq!(rows.len(), stand.len(), "a command ended twice");
    let times = book.times();
    let mut ends = Ends::default();
    for row in &rows {
        let (id, destination, state): (&str, &str, &str) = (row.get(0), row.get(1), row.get(2));
        let called = times.get(id).copied().unwrap_or(0);
        match (destination, state) {
            (KEYS, "completed") => assert!(called >= 1, "{id} was never called"),
            (KEYLESS, "completed") => assert_eq!(called, 1, "{id}"),
            // A claim whose answer was lost may have been one whose command left.
            (KEYLESS, "uncertain") => assert!(called <= 1, "{id} was called {called} times"),
            other => panic!("{id} ended as {other:?}"),
        }
        ends.completed += usize::from(state == "completed");
        ends.uncertain += usize::from(state == "uncertain");
    }
    let unknown: Vec<_> = times.keys().filter(|id| !told.contains(id.as_str())).collect();
    assert!(unknown.is_empty(), "called, but never committed: {unknown:?}");
    let mut options = AuditOptions::default();
    if schema == SCHEMA {
        options = options.expect(Expect::new("SELECT id FROM orders ORDER BY id").kind(PAID));
    }
    let report = audit(store, options).await.unwrap();
    assert!(report.holds, "{report:?}");
    assert_eq!(report.checked.commands, ids.len() as u64);
    ends
}

/// Numbers at random, from a seed that is printed.
pub(crate) struct Random(u64);

impl Random {
    /// Begins where `COUNTERFOIL_SEED` says, else anywhere.
    pub(crate) fn new() -> Self {
        let seed = first_seed();
        eprintln!("seed {seed}");
        Self(seed)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}
