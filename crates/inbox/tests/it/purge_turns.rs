//! A large purge beside other writers: whose turn it is, batch by batch, on both databases.
//!
//! Guarantees: the order is forced, not timed. Does not: measure how long a batch takes.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome};
use counterfoil_core::port::{Book, Call, InboxEntry, InboxRows, Job, Page};
use counterfoil_inbox::receiver::Options;
use counterfoil_postgres::InboxSql;
use counterfoil_sqlite::InboxBook;

use crate::client::{Serving, count, deliver};
use crate::guard::connect;
use crate::postgres::{self, Schema};
use crate::postgres_receiver::{number, open, runtime};

/// So many keys are over.
const OVER: usize = 2_200;
/// One batch removes no more.
const BATCH: usize = 500;

/// What happened in the book, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// A page was committed that had removed so many keys.
    Purged(usize),
    /// A page was committed that did a job.
    Job,
}

/// Tells each turn, and waits after each batch until it may go on.
struct Watched<B> {
    inner: B,
    turns: Sender<Turn>,
    go_on: Receiver<()>,
}

struct WatchedPage<'book, P> {
    inner: P,
    turn: Option<Turn>,
    turns: &'book Sender<Turn>,
    go_on: &'book Receiver<()>,
}

impl<B: Book> Book for Watched<B> {
    type Error = B::Error;
    type Page<'book> = WatchedPage<'book, B::Page<'book>>;

    fn page(&mut self) -> Result<Self::Page<'_>, B::Error> {
        let Self { inner, turns, go_on } = self;
        Ok(WatchedPage { inner: inner.page()?, turn: None, turns, go_on })
    }
}

impl<P: Page> InboxRows for WatchedPage<'_, P> {
    type Error = P::Error;

    fn now(&mut self) -> Result<Micros, P::Error> {
        self.inner.now()
    }

    fn insert(
        &mut self,
        source: &str,
        key: &str,
        digest: Digest,
        expires_at: Micros,
    ) -> Result<Option<InboxEntry>, P::Error> {
        self.inner.insert(source, key, digest, expires_at)
    }

    fn finish(
        &mut self,
        source: &str,
        key: &str,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<(), P::Error> {
        self.inner.finish(source, key, outcome, result)
    }

    fn is_busy(error: &P::Error) -> bool {
        P::is_busy(error)
    }
}

impl<P: Page> Page for WatchedPage<'_, P> {
    fn mark(&mut self) -> Result<(), P::Error> {
        self.inner.mark()
    }

    fn keep(&mut self) -> Result<(), P::Error> {
        self.inner.keep()
    }

    fn undo(&mut self) -> Result<(), P::Error> {
        self.inner.undo()
    }

    fn look(&mut self, source: &str, key: &str) -> Result<Option<InboxEntry>, P::Error> {
        self.inner.look(source, key)
    }

    fn job(&mut self, job: &Job<'_>) -> Result<Vec<u8>, P::Error> {
        self.turn = Some(Turn::Job);
        self.inner.job(job)
    }

    fn first_job(&mut self, source: &str, key: &str) -> Result<Option<Vec<u8>>, P::Error> {
        self.inner.first_job(source, key)
    }

    fn call(&mut self, call: &Call<'_>) -> Result<(), P::Error> {
        self.inner.call(call)
    }

    fn purge(&mut self, limit: usize) -> Result<usize, P::Error> {
        let purged = self.inner.purge(limit)?;
        let before = if let Some(Turn::Purged(before)) = self.turn { before } else { 0 };
        self.turn = Some(Turn::Purged(before + purged));
        Ok(purged)
    }

    fn commit(self) -> Result<(), P::Error> {
        self.inner.commit()?;
        // After the test nobody listens any more.
        let Some(turn) = self.turn else { return Ok(()) };
        if let (Ok(()), Turn::Purged(_)) = (self.turns.send(turn), turn) {
            let _ = self.go_on.recv();
        }
        Ok(())
    }
}

/// Runs a receiver over `book`, in which `OVER` keys are over. Between two batches `add` writes
/// `BATCH` more of them, until a request that came during the first batch has been served: were it
/// not let in between, the purge would have no end. Gives how many keys there were to remove.
fn purge_beside_writers(book: impl Book, mut add: impl FnMut(usize)) -> usize {
    let ((turns, told), (more, go_on)) = (channel(), channel());
    let mut options = Options::default();
    options.purge_every = Duration::from_millis(10);
    let serving = Serving::of(Watched { inner: book, turns, go_on }, options);
    let at = serving.at;
    let (mut over, mut purged, mut request, mut is_served) = (OVER, Vec::new(), None, false);
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        assert!(Instant::now() < end, "a request waits for {} batches: {purged:?}", purged.len());
        match told.recv_timeout(Duration::from_secs(30)).unwrap() {
            Turn::Job => is_served = true,
            Turn::Purged(keys) => {
                assert!(keys <= BATCH, "{keys} keys in one transaction");
                purged.push(keys);
                request.get_or_insert_with(|| std::thread::spawn(move || deliver(at, "k", b"{}")));
                if !is_served {
                    add(over);
                    over += BATCH;
                }
                more.send(()).unwrap();
                if keys < BATCH {
                    break;
                }
            }
        }
    }
    assert_eq!(request.unwrap().join().unwrap().text(), r#"{"job":1}"#);
    assert!(is_served, "only after the last batch: {purged:?}");
    assert_eq!(purged.iter().sum::<usize>(), over);
    drop((told, more));
    serving.stop();
    over
}

#[test]
fn a_large_purge_lets_requests_and_other_writers_in_between_its_batches() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let book = InboxBook::open(&path).unwrap();
    let db = connect(&path);
    // Another writer does not even wait: between two batches nothing is locked.
    db.busy_timeout(Duration::ZERO).unwrap();
    let insert = |from: usize, keys: usize| {
        let sql = format!(
            "INSERT INTO counterfoil_inbox(source, key, digest, expires_at)
             WITH n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < {keys})
             SELECT 's', 'over-' || ({from} + n), x'00', 1500000000000000 FROM n"
        );
        assert_eq!(db.execute(&sql, []).unwrap(), keys);
    };
    insert(0, OVER);
    let over = purge_beside_writers(book, |from| insert(from, BATCH));
    assert!(over > OVER, "nobody wrote in between");
    assert_eq!(count(&path, "SELECT count(*) FROM counterfoil_inbox"), 1);
}

#[test]
fn a_large_purge_on_postgresql_lets_them_in_too() {
    let schema = Schema::unmade();
    let book = open(&schema);
    let insert = |from: usize, keys: usize| {
        let sql = format!(
            "SET lock_timeout = '1s';
             INSERT INTO cf.inbox(source, key, digest, expires_at)
             SELECT 's', 'over-' || n, sha256('1'), 1500000000000000
             FROM generate_series({from}, {from} + {keys} - 1) n"
        );
        let sql = schema.sql(&sql);
        runtime().block_on(async { postgres::connect().await.batch_execute(&sql).await }).unwrap();
    };
    insert(0, OVER);
    let over = purge_beside_writers(book, |from| {
        insert(from, BATCH);
        // And what is over and not removed yet can be written: no batch holds more than its own.
        let again = "SET lock_timeout = '1s';
            UPDATE cf.inbox SET expires_at = expires_at + 1 WHERE source = 's'";
        let again = schema.sql(again);
        runtime()
            .block_on(async { postgres::connect().await.batch_execute(&again).await })
            .unwrap();
    });
    assert!(over > OVER, "nobody wrote in between");
    assert_eq!(number(&schema, "SELECT count(*) FROM cf.inbox"), 1);
}

/// A key that another transaction holds is left for the next time.
#[tokio::test]
async fn a_user_s_own_purge_on_postgresql_is_bounded_and_waits_for_nobody() {
    let schema = Schema::new().await;
    let (mut client, holder) = (postgres::connect().await, postgres::connect().await);
    let fill = "INSERT INTO cf.inbox(source, key, digest, expires_at)
        SELECT 's', 'over-' || n, sha256('1'), 1500000000000000 FROM generate_series(1, 1200) n;
        INSERT INTO cf.inbox(source, key, digest) VALUES ('s', 'kept', sha256('1'))";
    client.batch_execute(&schema.sql(fill)).await.unwrap();
    let hold = "BEGIN; SELECT FROM cf.inbox WHERE key = 'over-7' FOR UPDATE";
    holder.batch_execute(&schema.sql(hold)).await.unwrap();
    client.batch_execute("SET lock_timeout = '1s'").await.unwrap();
    let mut removed = Vec::new();
    while removed.last().is_none_or(|step| *step == BATCH) {
        let tx = client.transaction().await.unwrap();
        removed.push(InboxSql::of_schema(&schema.0).on(&tx).purge(BATCH).await.unwrap());
        tx.commit().await.unwrap();
    }
    assert_eq!(removed, [500, 500, 199]);
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(schema.number("SELECT count(*) FROM cf.inbox").await, 2);
}
