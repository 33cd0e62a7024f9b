//! Decides what is due: takes inputs, decides them, and commits many workflows in one transaction.
//!
//! Guarantees: what a decision says is written whole with the input that it consumes, or nothing of
//! it; a program that panics, breaks a rule or never answers holds up its own workflow only; a
//! store that fails is tried again and nothing is lost. Does not: send; a relay does. Any number of
//! runners may serve one store: a lease keeps them apart for speed, the head of the stream for
//! safety.

mod batch;
mod builder;
mod cache;
mod commit;
mod decider;
mod error;
mod load;
mod observer;
mod options;
mod work;

use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::backoff::Pace;
use counterfoil_core::domain::workflow::Program;
use counterfoil_core::domain::{Micros, Seed, Span, Stream};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{DueFrom, DueInput};
use counterfoil_core::port::{Patience, SystemClock, Workflows};
use tokio::time::Instant;

use crate::programs::Programs;
use cache::Cache;
use decider::Decider;

pub use builder::Builder;
pub use error::RunnerError;
pub use observer::{Notice, Observer, TracingObserver};
pub use options::{BATCH_MAX, Options};

/// The shortest poll: less would be a runner that does nothing else.
const POLL_MIN: Duration = Duration::from_millis(1);
/// How often inputs are kept in order: 1 s.
const KEEP_EVERY: Duration = Duration::from_secs(1);
/// How many inputs one upkeep looks at.
const KEEP_MAX: usize = 256;

/// How many workflows are let go of in one write.
const LET_GO_MAX: usize = 1_000;
/// How long a stop takes for that.
const LET_GO_WITHIN: Duration = Duration::from_secs(1);

/// Decides workflows of one store.
///
/// `decide` and `evolve` run on a thread of the runner's own, never in tokio's: a slow one slows
/// this runner, and holds up nothing else of the process. One that has not answered within
/// [`Options::decide_max`] sets its workflow aside; the runner goes on with another thread, and the
/// old one stays until the function returns, at the latest until the process ends.
pub struct Runner<S> {
    store: S,
    programs: Arc<Programs>,
    options: Options,
    observer: Arc<dyn Observer>,
}

/// What a runner did until it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunnerEnd {
    /// Inputs that were decided, ignored ones too.
    pub inputs: u64,
    /// Steps that were written: one workflow in one transaction.
    pub steps: u64,
    /// Transactions in which they were written.
    pub commits: u64,
    /// Steps that were refused since another runner was faster.
    pub refused: u64,
    /// Workflows that were set aside.
    pub quarantined: u64,
    /// Inputs that were taken away, since their stream is a service's own and no workflow.
    pub set_aside: u64,
    /// Workflows that were loaded from the store.
    pub loads: u64,
    /// Events that were read for that.
    pub events_read: u64,
}

impl<S: Workflows> Runner<S> {
    /// Begins a runner of this store.
    pub fn builder(store: S) -> Builder<S> {
        Builder::new(store)
    }

    /// Works until `stop` is ready; then ends what it is at within [`Options::drain`] and lets go
    /// of the workflows that it has in memory, so that another runner need not wait for its leases.
    /// Must run inside a tokio runtime with time.
    ///
    /// Dropping the future abandons what is not committed; the inputs wait and are decided anew.
    ///
    /// # Errors
    /// [`RunnerError`] when the store or the machine's clock is of no use any more.
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<RunnerEnd, RunnerError> {
        self.begin(stop, false).await
    }

    /// Works until no input is due. Timers that are not due yet, and signals of workflows that have
    /// not begun, do not keep it; an input of a workflow that another runner holds does. It holds
    /// none itself ([`Options::lease`] counts as zero), so that the next run need not wait for it.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_until_idle(self) -> Result<RunnerEnd, RunnerError> {
        self.begin(std::future::pending(), true).await
    }

    async fn begin(
        self,
        stop: impl Future<Output = ()> + Send,
        until_idle: bool,
    ) -> Result<RunnerEnd, RunnerError> {
        let Self { store, programs, mut options, observer } = self;
        if until_idle {
            options.lease = Span::ZERO;
        }
        let all: Vec<Program> = programs.iter().cloned().collect();
        let owner = options.owner.clone();
        observer.notice(&Notice::Started { owner: owner.clone(), programs: all.clone() });
        let work = Work {
            decider: Decider::new(options.decide_max),
            cache: Cache::new(options.cache),
            store,
            programs,
            all,
            observer: Arc::clone(&observer),
            options,
            end: RunnerEnd::default(),
            alone: HashMap::new(),
            stuck: HashMap::new(),
            ahead: None,
            is_told_in_vain: false,
            keep_at: Instant::now(),
            met_at: None,
            is_idle: false,
            failures: 0,
            seed: Seed(0),
        };
        let ended = Box::pin(work.run(pin!(stop), until_idle)).await;
        observer.notice(&Notice::Stopped { owner });
        ended
    }
}

/// A runner at work.
struct Work<S> {
    store: S,
    programs: Arc<Programs>,
    all: Vec<Program>,
    options: Options,
    observer: Arc<dyn Observer>,
    decider: Decider,
    cache: Cache,
    end: RunnerEnd,
    /// Workflows whose next inputs are decided one by one, to find the one that is refused.
    alone: HashMap<Stream, usize>,
    /// How often a step was refused at this head.
    stuck: HashMap<Stream, (i64, u32)>,
    /// What is due, where the store has told of it already.
    ahead: Option<Vec<DueInput>>,
    /// Of what is due, nothing can be decided.
    is_told_in_vain: bool,
    keep_at: Instant,
    /// How many steps were written when inputs of workflows that have ended were last met: where
    /// none was since, they cannot be taken.
    met_at: Option<u64>,
    /// `Idle` was told and nothing was decided since.
    is_idle: bool,
    failures: u32,
    seed: Seed,
}

/// What a look at the store came to.
enum Looked {
    /// Inputs were taken; there may be more.
    Worked,
    /// Nothing is due that this runner may take.
    Nothing {
        /// When the next input is due, and the time now.
        next: Option<Micros>,
        now: Micros,
    },
}

/// Why a look came to nothing.
enum Failed {
    /// The store.
    Store(&'static str, StoreError),
    /// A program does not answer.
    Lost(Box<decider::Lost>),
}

impl Failed {
    const fn store(doing: &'static str) -> impl Fn(StoreError) -> Self {
        move |why| Self::Store(doing, why)
    }
}

/// What comes after a turn.
enum Next {
    /// There may be more to do.
    Now,
    /// Nothing, until something is committed or so much time has passed.
    Changed(Duration),
    /// The store is left alone for so long.
    Pause(Duration),
    /// Nothing is left to do.
    End,
}

impl<S: Workflows> Work<S> {
    async fn run<F: Future<Output = ()> + Send>(
        mut self,
        mut stop: Pin<&mut F>,
        until_idle: bool,
    ) -> Result<RunnerEnd, RunnerError> {
        loop {
            let drain = self.options.drain;
            let mut turn = Box::pin(self.turn(until_idle));
            let next = tokio::select! {
                biased;
                next = &mut turn => next?,
                () = &mut stop => {
                    // What is decided may still be committed.
                    if let Ok(next) = tokio::time::timeout(drain, turn).await {
                        next?;
                    }
                    self.let_go().await;
                    return Ok(self.end);
                }
            };
            drop(turn);
            tokio::select! {
                biased;
                () = &mut stop => {
                    self.let_go().await;
                    return Ok(self.end);
                }
                due = self.wait(&next) => self.ahead = due.or(self.ahead.take()),
            }
            if matches!(next, Next::End) {
                return Ok(self.end);
            }
        }
    }

    /// Lets go of what is in memory. What this does not reach is free when its lease has run out.
    async fn let_go(&self) {
        if self.options.lease.as_micros() <= 0 {
            return;
        }
        let held = self.cache.streams();
        let all = async {
            for some in held.chunks(LET_GO_MAX) {
                if self.store.let_go(&self.options.owner, some).await.is_err() {
                    return;
                }
            }
        };
        let _in_time = tokio::time::timeout(LET_GO_WITHIN, all).await;
    }

    /// Upkeep if it is time, and one look.
    async fn turn(&mut self, until_idle: bool) -> Result<Next, RunnerError> {
        let next = match self.keep(false).await {
            Ok(_) => self.look_and_rest(until_idle).await,
            Err(failed) => Err(failed),
        };
        match next {
            Ok(next) => {
                self.failures = 0;
                Ok(next)
            }
            Err(Failed::Store(doing, why)) => self.store_failed(doing, why),
            Err(Failed::Lost(lost)) => match self.give_up(*lost).await {
                Ok(()) => Ok(Next::Now),
                Err(why) => self.store_failed("setting a workflow aside", why),
            },
        }
    }

    async fn look_and_rest(&mut self, until_idle: bool) -> Result<Next, Failed> {
        let Looked::Nothing { next, now } = self.look().await? else {
            self.is_idle = false;
            return Ok(Next::Now);
        };
        let is_idle = next.is_none_or(|next| next > now);
        if is_idle && until_idle {
            return Ok(if self.keep(true).await? { Next::Now } else { Next::End });
        }
        if is_idle && !self.is_idle {
            self.is_idle = true;
            self.observer.notice(&Notice::Idle { next });
        }
        Ok(Next::Changed(self.pause(next, now)))
    }

    /// How long nothing is due; a poll at most, and never no time at all.
    fn pause(&self, next: Option<Micros>, now: Micros) -> Duration {
        let poll = self.options.poll.max(POLL_MIN);
        match next {
            Some(next) if next > now => poll.min(next.since(now).to_std()).max(POLL_MIN),
            // Another runner holds it, or it was taken meanwhile.
            _ => poll,
        }
    }

    /// Waits, and says what is due where the store tells of it.
    async fn wait(&self, next: &Next) -> Option<Vec<DueInput>> {
        match next {
            Next::Now | Next::End => tokio::task::yield_now().await,
            Next::Changed(at_most) if self.store.is_patient() => {
                return self.when_due(*at_most).await;
            }
            // A wake-up is a hint of the store; the poll is the truth.
            Next::Changed(at_most) => self.store.changed(*at_most).await,
            Next::Pause(pause) => tokio::time::sleep(*pause).await,
        }
        None
    }

    /// What becomes due within that time by a commit. An error is told by the look that follows.
    async fn when_due(&self, at_most: Duration) -> Option<Vec<DueInput>> {
        let patience = Patience::new(Arc::new(SystemClock));
        let mut due = pin!(self.store.when_due(self.from(), patience.clone()));
        let due = tokio::select! {
            biased;
            due = &mut due => due,
            () = tokio::time::sleep(at_most) => {
                patience.end();
                due.await
            }
        };
        due.ok().flatten()
    }

    /// Where this runner looks for inputs.
    fn from(&self) -> DueFrom {
        let (programs, owner) = (self.all.clone(), self.options.owner.clone());
        DueFrom { programs, owner, limit: self.options.batch }
    }

    /// Gives orphans their workflow and takes old ones away, and meets what came to workflows that
    /// have ended, once a second or at once. Whether there is more to do now.
    async fn keep(&mut self, at_once: bool) -> Result<bool, Failed> {
        let now = Instant::now();
        if !at_once && now < self.keep_at {
            return Ok(false);
        }
        let kept = self.store.keep_inputs(KEEP_MAX, self.options.orphans_after).await;
        let kept = kept.map_err(Failed::store("keeping inputs"))?;
        self.keep_at = if kept.more { now } else { now + KEEP_EVERY };
        if kept.adopted + kept.expired > 0 {
            let (adopted, expired) = (kept.adopted, kept.expired);
            self.observer.notice(&Notice::Kept { adopted, expired });
        }
        let is_met = kept.ended > 0 && self.met_at != Some(self.end.steps);
        self.met_at = (kept.ended > 0).then_some(self.end.steps);
        Ok(kept.adopted > 0 || kept.more || is_met)
    }

    /// How long the store is left alone; an error where that would not help.
    fn store_failed(&mut self, doing: &'static str, why: StoreError) -> Result<Next, RunnerError> {
        match why {
            StoreError::Unavailable(_) | StoreError::NotKnown(_) => {}
            StoreError::Clock(jumped) => return Err(RunnerError::Clock(jumped)),
            why => return Err(RunnerError::Store { doing, why }),
        }
        self.failures = self.failures.saturating_add(1);
        self.seed = Seed(self.seed.mixed());
        let pace =
            Pace { initial: Span::from_millis(100), max: Span::from_secs(5), ..Pace::default() };
        let retry_in = pace.wait(self.failures, None, self.seed);
        self.observer.notice(&Notice::StoreFailed { reason: format!("{doing}: {why}"), retry_in });
        Ok(Next::Pause(retry_in.to_std()))
    }
}
