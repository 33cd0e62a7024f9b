//! One caller's work in the commit queue, and the answer it waits for.
//!
//! Guarantees: a caller always hears: the answer after COMMIT, or an error; also if the writer
//! panics or ends. Does not: say who waits; a thread and a task are answered alike.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;

use counterfoil_core::domain::Micros;
use counterfoil_core::port::Patience;
use counterfoil_core::port::store::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::group::Group;

/// What one caller wants done inside a transaction.
pub(crate) trait Work: Send + 'static {
    /// What the caller hears.
    type Answer: Send + 'static;

    /// About how many rows it writes; bounds a group.
    fn size(&self) -> usize;

    /// A relay's work: bounded in time, held back for foreign writers, stopped by a clock jump.
    fn is_relay(&self) -> bool {
        false
    }

    /// The answer, if reading alone gives it. No transaction is open.
    fn peek(&self, _: &Connection, _: Micros) -> rusqlite::Result<Option<Self::Answer>> {
        Ok(None)
    }

    /// Does it. What fails may be rolled back and done again.
    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Self::Answer>;

    /// After a COMMIT that failed: whether what `answer` says stands all the same. `None` where
    /// that cannot be told.
    fn stands(&self, _: &Connection, _: &Self::Answer) -> rusqlite::Result<Option<bool>> {
        Ok(None)
    }

    /// Whether somebody may now have something to do.
    fn wakes(&self, _: &Self::Answer) -> bool {
        false
    }

    /// How long it may wait for something to do; `None`: not at all.
    fn patience(&self) -> Option<&Patience> {
        None
    }

    /// Whether `answer` says that there is nothing to do.
    fn is_nothing(&self, _: &Self::Answer) -> bool {
        false
    }
}

/// A [`Work`] of any kind, waiting for its group.
pub(crate) trait Member: Send {
    fn size(&self) -> usize;
    fn is_relay(&self) -> bool;
    /// Peeks; whether the answer is there, or is waited for.
    fn peek(&mut self, connection: &Connection, now: Micros) -> rusqlite::Result<bool>;
    /// Whether it waits for something to do.
    fn is_waiting(&self) -> bool;
    /// Waits again, whatever it was about to answer: nothing of it was written.
    fn wait_again(&mut self);
    fn patience(&self) -> Option<&Patience>;
    /// Whether nobody waits for its answer any more.
    fn is_abandoned(&self) -> bool;
    /// Ends without an answer; whoever waits is told that it went.
    fn give_up(self: Box<Self>);
    /// Runs and keeps the answer back.
    fn run(&mut self, group: &mut Group<'_>) -> rusqlite::Result<()>;
    /// Whether it failed already, in a replay.
    fn has_failed(&self) -> bool;
    /// It fails with `error`, whatever becomes of its group.
    fn fail(&mut self, error: StoreError);
    /// Whether somebody may now have something to do.
    fn wakes(&self) -> bool;
    /// Gives the answer.
    fn answer(self: Box<Self>);
    /// Gives the answer if a look at the store says that it stands, else `why`.
    fn look_up(&mut self, connection: Option<&Connection>, why: &str);
}

/// A work with its answer and the one who waits for it.
pub(crate) struct Waiting<W: Work> {
    work: W,
    answer: Option<Result<W::Answer, StoreError>>,
    caller: Caller<W::Answer>,
    /// A workflow got an input by it.
    gave_input: bool,
    waits: bool,
}

impl<W: Work> Waiting<W> {
    /// A member that answers a thread.
    pub(crate) fn thread(work: W) -> (Box<dyn Member>, Arc<Slot<W::Answer>>) {
        let slot = Arc::new(Slot {
            answer: Mutex::new(None),
            is_there: AtomicBool::new(false),
            thread: std::thread::current(),
        });
        let caller = Caller::Thread(Some(Arc::clone(&slot)));
        (Box::new(Self::new(work, caller)), slot)
    }

    /// A member that answers a task.
    pub(crate) fn task(work: W) -> (Box<dyn Member>, oneshot::Receiver<Heard<W::Answer>>) {
        let (sender, receiver) = oneshot::channel();
        let caller = Caller::Task(Some(sender));
        (Box::new(Self::new(work, caller)), receiver)
    }

    const fn new(work: W, caller: Caller<W::Answer>) -> Self {
        Self { work, answer: None, caller, gave_input: false, waits: false }
    }
}

impl<W: Work> Member for Waiting<W> {
    fn size(&self) -> usize {
        self.work.size()
    }

    fn is_relay(&self) -> bool {
        self.work.is_relay()
    }

    fn peek(&mut self, connection: &Connection, now: Micros) -> rusqlite::Result<bool> {
        let answer = self.work.peek(connection, now)?;
        let is_nothing = answer.as_ref().is_some_and(|answer| self.work.is_nothing(answer));
        self.waits = is_nothing && self.work.patience().is_some();
        self.answer = answer.filter(|_| !self.waits).map(Ok);
        Ok(self.waits || self.answer.is_some())
    }

    fn is_waiting(&self) -> bool {
        self.waits
    }

    fn wait_again(&mut self) {
        (self.waits, self.answer, self.gave_input) = (true, None, false);
    }

    fn patience(&self) -> Option<&Patience> {
        self.work.patience()
    }

    fn is_abandoned(&self) -> bool {
        matches!(&self.caller, Caller::Task(Some(sender)) if sender.is_closed())
    }

    fn give_up(mut self: Box<Self>) {
        if let Caller::Task(sender) = &mut self.caller {
            drop(sender.take());
        }
    }

    fn run(&mut self, group: &mut Group<'_>) -> rusqlite::Result<()> {
        let before = group.inputs();
        self.answer = Some(Ok(self.work.run(group)?));
        self.gave_input = group.inputs() > before;
        Ok(())
    }

    fn has_failed(&self) -> bool {
        matches!(self.answer, Some(Err(_)))
    }

    fn fail(&mut self, error: StoreError) {
        self.answer = Some(Err(error));
    }

    fn wakes(&self) -> bool {
        let does = |answer| self.gave_input || self.work.wakes(answer);
        matches!(&self.answer, Some(Ok(answer)) if does(answer))
    }

    fn answer(mut self: Box<Self>) {
        let Some(answer) = self.answer.take() else { return };
        // A thread takes its own work back and frees it: the writer has more to do.
        if let Caller::Thread(slot) = &mut self.caller
            && let Some(slot) = slot.take()
        {
            slot.fill(answer, Some(self));
        } else {
            self.caller.hear(answer);
        }
    }

    fn look_up(&mut self, connection: Option<&Connection>, why: &str) {
        let Some(Ok(answer)) = &self.answer else { return };
        let stands = connection.and_then(|store| self.work.stands(store, answer).ok().flatten());
        match stands {
            Some(true) => {}
            Some(false) => self.fail(StoreError::Unavailable(why.into())),
            None => self.fail(StoreError::NotKnown(why.into())),
        }
    }
}

/// What a caller hears.
pub(crate) type Heard<A> = Result<A, StoreError>;

enum Caller<A> {
    Thread(Option<Arc<Slot<A>>>),
    Task(Option<oneshot::Sender<Heard<A>>>),
}

impl<A> Caller<A> {
    fn hear(&mut self, heard: Heard<A>) {
        match self {
            Self::Thread(slot) => {
                if let Some(slot) = slot.take() {
                    slot.fill(heard, None);
                }
            }
            Self::Task(sender) => {
                // A task that was dropped meanwhile no longer wants to know.
                let _ = sender.take().map(|sender| sender.send(heard));
            }
        }
    }
}

impl<A> Drop for Caller<A> {
    /// Whoever was not answered hears so; only a panic of the writer gets here.
    fn drop(&mut self) {
        self.hear(Err(unanswered()));
    }
}

/// What a caller hears whose writer went away.
pub(crate) fn unanswered() -> StoreError {
    StoreError::NotKnown("the writer ended before it answered".into())
}

/// A work that is done, to be freed by whoever made it.
type Spent = Option<Box<dyn Send>>;

/// Where a thread finds its answer.
pub(crate) struct Slot<A> {
    answer: Mutex<Option<(Heard<A>, Spent)>>,
    is_there: AtomicBool,
    thread: Thread,
}

impl<A> Slot<A> {
    fn fill(&self, heard: Heard<A>, spent: Spent) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some((heard, spent));
        self.is_there.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// Waits for the answer; only the thread that made the slot may.
    pub(crate) fn wait(&self) -> Heard<A> {
        while !self.is_there.load(Ordering::Acquire) {
            std::thread::park();
        }
        let heard = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        heard.map_or_else(|| Err(unanswered()), |(heard, _spent)| heard)
    }
}
