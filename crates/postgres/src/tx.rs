//! One transaction on one connection: begun with its first statement, and never left open.
//!
//! Guarantees: dropped without an end, its connection is closed, and the server rolls back; a
//! failure of COMMIT without an answer is told as not known; a server that says nothing is waited
//! for until `answer_timeout`, and asked nothing more on this connection. Does not: try again.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use counterfoil_core::domain::Micros;
use deadpool_postgres::Object;
use futures_util::future::join;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::failure::{Failure, words};
use crate::floors::{FLOOR_MARGIN, Floors};
use crate::param::Param;
use crate::pool::Settings;
use crate::statement::{Statement, statement};

const NOTIFY: Statement = statement!("notify");

/// A transaction: writes under READ COMMITTED, reads of one moment under REPEATABLE READ.
pub(crate) struct Tx<'a> {
    /// `None` once it was given back.
    client: Option<Object>,
    settings: &'a Settings,
    is_snapshot: bool,
    begun: AtomicBool,
    ended: AtomicBool,
    /// Who sends next: a statement that must be prepared first keeps its place before later ones.
    turn: Mutex<()>,
    since: Instant,
    /// The server's last answer here.
    heard: std::sync::Mutex<Option<Instant>>,
    /// It gave none in time: nothing more is asked of it, least of all a COMMIT.
    silent: AtomicBool,
    due: std::sync::Mutex<MadeDue>,
}

/// What a transaction made due at its time or before.
#[derive(Default)]
struct MadeDue {
    /// By destination, how long before the transaction's time, in µs; the longest.
    behind: BTreeMap<String, i64>,
    /// Destinations where that is, since somebody asked last.
    fresh: BTreeSet<String>,
    /// Anywhere, and of any time.
    anywhere: bool,
    /// Others should look, be it due now or later.
    news: bool,
    /// A workflow got an input.
    input: bool,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(client: Object, settings: &'a Settings, is_snapshot: bool) -> Self {
        Self {
            client: Some(client),
            settings,
            is_snapshot,
            begun: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            turn: Mutex::new(()),
            since: Instant::now(),
            heard: std::sync::Mutex::default(),
            silent: AtomicBool::new(false),
            due: std::sync::Mutex::default(),
        }
    }

    /// One statement that reads, by itself: nothing is begun, and nothing is to be ended. Where a
    /// pooler stands between it is a transaction, since settings are made in one.
    pub(crate) fn glance(client: Object, settings: &'a Settings) -> Self {
        let tx = Self::new(client, settings, true);
        tx.begun.store(!settings.options.pooler, Ordering::Release);
        tx.ended.store(!settings.options.pooler, Ordering::Release);
        tx
    }

    /// Something at the destination is due since `at`, which is `now` or before.
    pub(crate) fn made_due(&self, destination: &str, at: Micros, now: Micros) {
        let behind = now.since(at).as_micros();
        if behind < 0 {
            return;
        }
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let longest = due.behind.entry(destination.to_owned()).or_insert(behind);
        *longest = behind.max(*longest);
        due.fresh.insert(destination.to_owned());
    }

    /// Something is due somewhere, since any time.
    pub(crate) fn made_due_anywhere(&self) {
        self.due.lock().unwrap_or_else(PoisonError::into_inner).anywhere = true;
    }

    /// Others should look after COMMIT, whatever is due when.
    pub(crate) fn has_news(&self) {
        self.due.lock().unwrap_or_else(PoisonError::into_inner).news = true;
    }

    /// A workflow got an input, at which its runner should look.
    pub(crate) fn gave_input(&self) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        (due.news, due.input) = (true, true);
    }

    /// Whether a workflow got an input.
    pub(crate) fn has_input(&self) -> bool {
        self.due.lock().unwrap_or_else(PoisonError::into_inner).input
    }

    /// Where something was made due since the last question.
    pub(crate) fn take_fresh(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.due.lock().unwrap_or_else(PoisonError::into_inner).fresh)
    }

    /// Whether others may find something after COMMIT.
    fn is_news(&self) -> bool {
        let due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.news || due.anywhere || !due.behind.is_empty()
    }

    /// Committed: claims that began to look later than what it made due look from the beginning.
    pub(crate) fn lower(&self, floors: &Floors) {
        let took = i64::try_from(self.since.elapsed().as_micros()).unwrap_or(i64::MAX);
        let due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if due.anywhere {
            floors.forget_all();
        }
        for (destination, behind) in &due.behind {
            if behind.saturating_add(took) > FLOOR_MARGIN / 2 {
                floors.forget(destination);
            }
        }
    }

    /// The connection, while the server speaks.
    fn client(&self) -> Result<&Object, Failure> {
        if self.silent.load(Ordering::Acquire) {
            return Err(self.silence());
        }
        self.client.as_ref().ok_or_else(|| Failure::broken("the transaction has ended"))
    }

    fn silence(&self) -> Failure {
        let limit = self.settings.answer_timeout();
        Failure::Unavailable(format!("the server gave no answer within {limit:?}"))
    }

    /// What is answered, or that for so long nothing at all was answered here.
    async fn within<T>(&self, asked: impl Future<Output = T>) -> Result<T, Failure> {
        let (mut asked, mut since) = (pin!(asked), Instant::now());
        let heard = || self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let until = since + self.settings.answer_timeout();
            if let Ok(answer) = timeout_at(until, asked.as_mut()).await {
                *heard() = Some(Instant::now());
                return Ok(answer);
            }
            // What travels together is answered one by one.
            match *heard() {
                Some(at) if at > since => since = at,
                _ => break,
            }
        }
        self.silent.store(true, Ordering::Release);
        // Those that wait in the pool lead to the same silence; fresh ones may not.
        if let Some(pool) = self.client.as_ref().and_then(Object::pool) {
            pool.retain(|_, _| false);
        }
        Err(self.silence())
    }

    /// Runs a statement and gives its rows. Statements whose futures are polled together travel
    /// together, in the order of their first polls.
    pub(crate) async fn query(
        &self,
        statement: Statement,
        params: &[&dyn Param],
    ) -> Result<Vec<Row>, Failure> {
        // Boxed, since each of them is wide and many may travel together.
        let run = Box::pin(self.run(statement, params));
        if self.begun.swap(true, Ordering::AcqRel) {
            return run.await;
        }
        let begin = self.client()?.batch_execute(self.settings.begin(self.is_snapshot));
        let (begun, rows) = join(self.within(begin), run).await;
        begun??;
        rows
    }

    /// The only row of a statement, if there is one.
    pub(crate) async fn query_opt(
        &self,
        statement: Statement,
        params: &[&dyn Param],
    ) -> Result<Option<Row>, Failure> {
        Ok(self.query(statement, params).await?.into_iter().next())
    }

    /// Runs a statement whose rows do not matter.
    pub(crate) async fn execute(
        &self,
        statement: Statement,
        params: &[&dyn Param],
    ) -> Result<(), Failure> {
        self.query(statement, params).await.map(drop)
    }

    async fn run(&self, statement: Statement, params: &[&dyn Param]) -> Result<Vec<Row>, Failure> {
        let text = self.settings.texts.of(statement);
        let turn = self.turn.lock().await;
        let client = self.client()?;
        if self.settings.options.pooler {
            let params = typed(params);
            return Ok(self.within(sent(turn, client.query_typed(&text, &params))).await??);
        }
        let types: Vec<Type> = params.iter().map(|param| param.of_type()).collect();
        let prepared = self.within(client.prepare_typed_cached(&text, &types)).await??;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|param| param.sql()).collect();
        Ok(self.within(sent(turn, client.query(&prepared, &params))).await??)
    }

    /// Runs the user's own query, unprepared.
    pub(crate) async fn query_text(
        &self,
        sql: &str,
        params: &[&dyn Param],
    ) -> Result<Vec<Row>, Failure> {
        let params = typed(params);
        Ok(self.within(self.client()?.query_typed(sql, &params)).await??)
    }

    /// Commits. With nothing begun there is nothing to commit.
    pub(crate) async fn commit(&self) -> Result<(), Failure> {
        if !self.begun.load(Ordering::Acquire) {
            self.ended.store(true, Ordering::Release);
            return Ok(());
        }
        if self.settings.options.listen && self.is_news() {
            let (told, committed) = join(self.tell(), Box::pin(self.send_commit())).await;
            // A transaction that failed answers COMMIT with a rollback, and with no error.
            return committed.and(told);
        }
        Box::pin(self.send_commit()).await
    }

    /// Tells those that listen, when it commits.
    async fn tell(&self) -> Result<(), Failure> {
        let Settings { channel, name, .. } = self.settings;
        Box::pin(self.run(NOTIFY, &[channel, name])).await.map(drop)
    }

    async fn send_commit(&self) -> Result<(), Failure> {
        let turn = self.turn.lock().await;
        // Who is silent is not asked to commit: so nothing was.
        let client = self.client()?;
        let sent = self.within(sent(turn, client.batch_execute("COMMIT"))).await;
        match sent.map_err(|silence| Failure::NotKnown(silence.to_string()))? {
            Ok(()) => {
                self.ended.store(true, Ordering::Release);
                Ok(())
            }
            // The server's own word: it is rolled back.
            Err(error) if error.as_db_error().is_some() && !ends_session(&error) => {
                Err(error.into())
            }
            Err(error) => Err(Failure::NotKnown(words(&error))),
        }
    }

    /// Commits, unless it has ended.
    pub(crate) async fn commit_if_open(&self) -> Result<(), Failure> {
        if self.ended.load(Ordering::Acquire) { Ok(()) } else { self.commit().await }
    }

    /// Runs `last` and commits in the same round trip; a failure of `last` is the answer.
    pub(crate) async fn commit_with<T>(
        &self,
        last: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let (last, committed) = join(last, self.commit()).await;
        match (last, committed) {
            // A connection that broke took both answers with it.
            (_, Err(failure @ Failure::NotKnown(_))) => Err(failure),
            (last, Ok(())) => last,
            (Err(failure), Err(_)) | (Ok(_), Err(failure)) => Err(failure),
        }
    }

    /// Rolls back what was done so far; what follows begins anew.
    pub(crate) async fn abandon(&self) -> Result<(), Failure> {
        if self.begun.load(Ordering::Acquire) {
            self.within(self.client()?.batch_execute("ROLLBACK")).await??;
            self.begun.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Rolls back, so that the connection can be used again.
    pub(crate) async fn rollback(self) {
        let is_open = self.begun.load(Ordering::Acquire) && !self.ended.load(Ordering::Acquire);
        let Ok(client) = self.client() else { return };
        if !is_open || matches!(self.within(client.batch_execute("ROLLBACK")).await, Ok(Ok(()))) {
            self.ended.store(true, Ordering::Release);
        }
    }
}

fn typed<'a>(params: &[&'a dyn Param]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    params.iter().map(|param| (param.sql(), param.of_type())).collect()
}

/// Polls once, which sends, and lets the next one send; then waits for the answer.
async fn sent<T>(turn: MutexGuard<'_, ()>, request: impl Future<Output = T>) -> T {
    let mut request = pin!(request);
    let first = poll_fn(|context| Poll::Ready(request.as_mut().poll(context))).await;
    drop(turn);
    match first {
        Poll::Ready(answer) => answer,
        Poll::Pending => request.await,
    }
}

/// A server that shuts down says so in place of an answer.
fn ends_session(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| code.code().starts_with("57P"))
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        let ended = self.ended.load(Ordering::Acquire) || !self.begun.load(Ordering::Acquire);
        let is_silent = self.silent.load(Ordering::Acquire);
        if let Some(client) = self.client.take().filter(|_| !ended || is_silent) {
            // Closed, not pooled: its transaction may be open, or an answer be under way.
            drop(Object::take(client));
        }
    }
}
