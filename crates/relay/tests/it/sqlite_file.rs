//! A relay on a real SQLite file, with handlers that write to the same file.
//!
//! Guarantees: a handler's own rows and the receipt of its command commit together or not at all,
//! and the settle after it finds its receipt there. Does not: repeat what the store's suite says.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use counterfoil_core::domain::{Contract, Destination, Idempotent, Outcome, Span, Terms, Token};
use counterfoil_core::port::store::Reported;
use counterfoil_core::port::{Attempt, Notice, Store, Transport};
use counterfoil_relay::transport::handler::{HandlerError, handler};
use counterfoil_relay::{Options, Relay, RelayEnd, Served};
use counterfoil_sqlite::{Outbox as _, SqliteStore};
use counterfoil_testkit::{Receiver, Script, ScriptedTransport};
use rusqlite::{Connection, TransactionBehavior};
use tempfile::TempDir;

use crate::answering::Answering;
use crate::scene::{Heard, SHIPPING, askable, paid, secs};

/// A file with a table of the user's own.
struct File {
    folder: TempDir,
    store: SqliteStore,
    heard: Heard,
    terms: Terms,
}

impl File {
    fn new(idempotent: Idempotent) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::init(folder.path().join("s.db"), None).unwrap();
        let mut terms = Terms::new(Contract::new(idempotent));
        terms.pace.initial = Span::from_millis(1);
        let file = Self { folder, store, heard: Heard::default(), terms };
        file.sql().execute_batch("CREATE TABLE jobs(command_id TEXT)").unwrap();
        file
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("s.db")
    }

    fn sql(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        self.sql().query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    async fn enqueue(&self, id: &str) {
        let recorded = self.store.enqueue(vec![paid(SHIPPING, id)]).await.unwrap();
        assert!(recorded[0].is_ok(), "{recorded:?}");
    }

    async fn state(&self, id: &str) -> String {
        self.store.show(id).await.unwrap().unwrap().listed.state
    }

    async fn run(&self, transport: Arc<dyn Transport>) -> RelayEnd {
        let shipping = Destination::new(SHIPPING).unwrap();
        let served = Served::new(shipping, self.terms.clone(), transport);
        let options = Options::default().until_idle(true);
        let relay = Relay::new(self.store.clone(), vec![served], options, self.heard.clone());
        relay.run(std::future::pending()).await.unwrap()
    }

    /// Each command has one receipt and nothing else.
    fn is_plain(&self, receipts: i64) {
        let counts = ["receipt", "contradiction", "attempt", "delivery"]
            .map(|table| self.count(&format!("counterfoil_{table}")));
        assert_eq!(counts, [receipts, 0, 0, 0], "receipts, contradictions, attempts, open");
        assert!(!self.heard.has(|notice| matches!(notice, Notice::Late { .. })));
    }
}

/// The user's row and the receipt, in the user's own transaction.
fn work(path: &Path, attempt: &Attempt, token: Token) -> Result<(), HandlerError> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(20))?;
    let work = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let id = &attempt.command.command_id;
    work.execute("INSERT INTO jobs VALUES (?1)", [id.as_str()])?;
    let reported = work.complete(id, Some(b"job 7"), "the job is written", Some(token))?;
    assert_eq!(reported, Reported::Recorded);
    work.commit()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_completes_in_its_own_transaction_is_settled_once() {
    let file = File::new(Idempotent::No);
    for number in 0..50 {
        file.enqueue(&format!("A-{number}")).await;
    }
    let path = file.path();
    let end = file
        .run(Arc::new(handler(move |attempt: Attempt| {
            let path = path.clone();
            async move { work(&path, &attempt, attempt.token) }
        })))
        .await;
    assert_eq!((end.remaining.busy, end.remaining.parked), (0, 0), "{:?}", file.heard.all());
    assert_eq!(file.count("jobs"), 50);
    file.is_plain(50);
    let story = file.store.show("A-7").await.unwrap().unwrap();
    let receipt = &story.receipts[0];
    assert_eq!((receipt.outcome.as_str(), receipt.attempts), ("completed", 1));
    assert_eq!(receipt.result.as_deref(), Some(b"job 7".as_slice()));
    assert_eq!(receipt.evidence.as_deref(), Some("the job is written"));
}

/// It commits, and dies before it can say so: the work is done and known to be.
#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_dies_after_its_commit_is_not_called_again() {
    let file = File::new(Idempotent::Forever);
    file.enqueue("A").await;
    let path = file.path();
    file.run(Arc::new(handler(move |attempt: Attempt| {
        let path = path.clone();
        async move {
            work(&path, &attempt, attempt.token)?;
            assert!(attempt.number == 0, "dies here");
            Ok::<_, HandlerError>(())
        }
    })))
    .await;
    assert_eq!(file.state("A").await, "completed");
    assert_eq!((file.count("jobs"), file.count("counterfoil_receipt")), (1, 1));
    assert!(!file.heard.has(|notice| matches!(notice, Notice::Late { .. })));
}

/// It dies before its commit: nothing of it stands, and the next attempt does it.
#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_rolls_back_leaves_neither_row_nor_receipt() {
    let file = File::new(Idempotent::Forever);
    file.enqueue("A").await;
    let (path, calls) = (file.path(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&calls);
    file.run(Arc::new(handler(move |attempt: Attempt| {
        let (path, calls) = (path.clone(), Arc::clone(&counted));
        async move {
            if calls.fetch_add(1, Ordering::Relaxed) > 0 {
                return work(&path, &attempt, attempt.token);
            }
            let mut connection = Connection::open(&path)?;
            let work = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let id = &attempt.command.command_id;
            work.execute("INSERT INTO jobs VALUES (?1)", [id.as_str()])?;
            work.complete(id, None, "never committed", Some(attempt.token))?;
            Err(HandlerError::unknown("the power went"))
        }
    })))
    .await;
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(file.state("A").await, "completed");
    assert_eq!((file.count("jobs"), file.count("counterfoil_receipt")), (1, 1));
}

/// Its lease has gone to another: the fence takes its own row back with the receipt.
#[tokio::test(flavor = "multi_thread")]
async fn a_handler_with_an_old_token_cannot_commit_its_work() {
    let file = File::new(Idempotent::No);
    file.enqueue("A").await;
    let path = file.path();
    file.run(Arc::new(handler(move |attempt: Attempt| {
        let path = path.clone();
        async move { work(&path, &attempt, Token::new(attempt.token.get() - 1)) }
    })))
    .await;
    assert_eq!(file.state("A").await, "uncertain");
    assert_eq!((file.count("jobs"), file.count("counterfoil_receipt")), (0, 0));
}

/// A bare "not there" and its control question, and a sweep, against the real store.
#[tokio::test(flavor = "multi_thread")]
async fn control_questions_and_sweeps_work_on_a_real_file() {
    let mut file = File::new(Idempotent::No);
    askable(&mut file.terms.contract).quiet = Span::from_millis(1);
    file.terms.pace.lease = Span::from_millis(2_500);
    let transport = ScriptedTransport::new(Arc::new(Receiver::without_keys()));
    let transport = Arc::new(transport.request_timeout(Some(Span::from_millis(400))));
    file.enqueue("K").await;
    file.run(transport.clone()).await;
    file.enqueue("A").await;
    let mut stray = paid("unknown-place", "stray");
    stray.expires_at = Some(file.store.now().unwrap().plus(secs(1)));
    file.store.enqueue(vec![stray]).await.unwrap();
    transport.script("A", Script::answer(Outcome::unknown("reset")));
    let answering = Answering::new(&transport);
    file.run(answering.clone()).await;
    assert_eq!(answering.asked(), ["A", "K"]);
    assert_eq!((file.state("A").await.as_str(), transport.sends("A")), ("completed", 2));
    assert_eq!(file.state("stray").await, "expired", "while the other one waited");
    let expired = |notice: &Notice| matches!(notice, Notice::Expired { .. });
    assert_eq!(file.heard.count(expired), 1);
}
