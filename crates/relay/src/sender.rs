//! Runs attempts: spreads them over threads, bounds them, and tells how they ended.
//!
//! Guarantees: a panic or an endless send is an unknown outcome of one attempt and nothing else;
//! what passed no gate is told as unsent. An attempt that keeps its thread to itself holds up
//! those behind it once; from then on that transport's attempts run beside each other. Does not:
//! settle.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use counterfoil_core::domain::{Answer, Outcome, TraceContext};
use counterfoil_core::port::store::Ended;
use counterfoil_core::port::{Attempt, BoxFuture, Question, Transport};
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::attempts::Place;
use crate::control::{self, Newest};
use crate::reason::{made_fit, of_panic};
use crate::serving::Caution;
use crate::trace::{Hop, OpenSpan, Tracer};

/// A first step that takes longer keeps its thread to itself.
const SLOW: Duration = Duration::from_micros(200);
/// After so long the rest of a batch is shared with other threads.
const SHARED_AFTER: Duration = Duration::from_millis(1);

/// A process that was frozen past the timeout wakes to its timer first, though the answer may have
/// come in time. So long a transport may still tell it; the margin of the lease bears it.
const LAST_LOOK: Duration = Duration::from_millis(100);

/// An attempt to run.
pub(crate) struct Job {
    /// Its place among the attempts.
    pub(crate) place: Place,
    pub(crate) attempt: Attempt,
    pub(crate) round: u32,
    /// It is a question, not a send.
    pub(crate) asking: Option<Asking>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) caution: Arc<Caution>,
}

/// What a question needs besides.
pub(crate) struct Asking {
    /// Which question of its round, from 1.
    pub(crate) number: u32,
    /// How long it may take, its control question included.
    pub(crate) within: Duration,
    pub(crate) newest: Arc<dyn Newest>,
}

/// How an attempt ended.
pub(crate) struct Finished {
    pub(crate) place: Place,
    pub(crate) ended: Ended,
    pub(crate) at: Instant,
    /// Its span, if it has one.
    pub(crate) trace: Option<TraceContext>,
}

/// What is told at a time: one wake-up for a whole batch.
pub(crate) enum Told {
    One(Finished),
    Many(Vec<Finished>),
}

/// How an attempt ended, and its span.
type EndedIn = (Ended, Option<TraceContext>);
/// An attempt's serial, and how to drop it.
type Handle = (u64, AbortHandle);

/// Runs attempts beside the relay's own task.
pub(crate) struct Sender {
    told: mpsc::UnboundedSender<Told>,
    /// How to drop the attempt at each place; stale handles do nothing.
    handles: Box<[Mutex<Option<Handle>>]>,
    tracer: Option<Arc<dyn Tracer>>,
}

impl Sender {
    /// A sender of so many workers, and where it tells what ended. What is told is bounded by
    /// the workers.
    pub(crate) fn new(
        workers: usize,
        tracer: Option<Arc<dyn Tracer>>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Told>) {
        let (told, hear) = mpsc::unbounded_channel();
        let handles = (0..workers).map(|_| Mutex::new(None)).collect();
        (Arc::new(Self { told, handles, tracer }), hear)
    }

    /// Begins these attempts.
    pub(crate) fn begin(self: &Arc<Self>, jobs: Vec<Job>) {
        let (careful, quick): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|job| job.caution.is_due());
        for job in careful {
            self.share(vec![job]);
        }
        self.share(quick);
    }

    fn share(self: &Arc<Self>, jobs: Vec<Job>) {
        if !jobs.is_empty() {
            tokio::spawn(Arc::clone(self).run(jobs));
        }
    }

    /// Takes the first step of each attempt in turn. Most handlers need no other; an attempt that
    /// waits becomes a task of its own.
    async fn run(self: Arc<Self>, jobs: Vec<Job>) {
        let mut finished = Vec::with_capacity(jobs.len());
        let mut jobs = jobs.into_iter();
        let began = Instant::now();
        let mut before = began;
        while let Some(job) = jobs.next() {
            let (place, caution) = (job.place, Arc::clone(&job.caution));
            let mut attempt = end(job, self.tracer.clone()).boxed();
            let first_step = poll_fn(|cx| Poll::Ready(attempt.poll_unpin(cx))).await;
            let now = Instant::now();
            match first_step {
                Poll::Ready((ended, trace)) => {
                    finished.push(Finished { place, ended, at: now, trace });
                }
                Poll::Pending => self.keep(place, attempt),
            }
            caution.learn(now.duration_since(before) < SLOW);
            before = now;
            if now.duration_since(began) > SHARED_AFTER && jobs.len() > 0 {
                let mut rest: Vec<_> = jobs.collect();
                self.share(rest.split_off(rest.len() / 2));
                self.share(rest);
                break;
            }
        }
        if !finished.is_empty() {
            let _ = self.told.send(Told::Many(finished));
        }
    }

    fn keep(self: &Arc<Self>, place: Place, attempt: BoxFuture<'static, EndedIn>) {
        let told = self.told.clone();
        let Some(handle) = self.handles.get(place.at) else { return };
        // Held until the handle stands, so that a later attempt at this place writes after it.
        let mut handle = handle.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tokio::spawn(async move {
            let (ended, trace) = attempt.await;
            let _ = told.send(Told::One(Finished { place, ended, at: Instant::now(), trace }));
        });
        // Taken out before its first step: another has its worker by now, and nobody waits for it.
        if handle.as_ref().is_some_and(|(serial, _)| *serial > place.serial) {
            return task.abort();
        }
        *handle = Some((place.serial, task.abort_handle()));
    }

    /// Drops the attempt at `place`.
    pub(crate) fn abort(&self, place: Place) {
        let Some(handle) = self.handles.get(place.at) else { return };
        let mut handle = handle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, task)) = handle.take_if(|(serial, _)| *serial == place.serial) {
            task.abort();
        }
    }

    /// Drops whatever still runs.
    pub(crate) fn abort_all(&self) {
        for handle in &self.handles {
            if let Some((_, task)) = handle.lock().unwrap_or_else(PoisonError::into_inner).take() {
                task.abort();
            }
        }
    }
}

/// Runs one attempt to its end, whatever the transport does, in a span where there is a tracer.
async fn end(mut job: Job, tracer: Option<Arc<dyn Tracer>>) -> EndedIn {
    let Some(tracer) = tracer else { return (run_to_end(job).await, None) };
    let span = OpenSpan::begin(&*tracer, &hop(&job));
    let trace = span.context();
    job.attempt.trace = trace;
    let ended = made_fit(run_to_end(job).await);
    span.end(&ended);
    (ended, trace)
}

/// What a tracer is told of a job.
fn hop(job: &Job) -> Hop<'_> {
    let Attempt { command, number, token, .. } = &job.attempt;
    let asking = job.asking.as_ref().map(|asking| asking.number);
    let (number, is_question) = (asking.unwrap_or(*number), asking.is_some());
    Hop { command, number, is_question, round: job.round, token: *token }
}

async fn run_to_end(job: Job) -> Ended {
    // Taken out before its first step: it must not lie beside those that have its place now.
    if job.attempt.gate.is_withdrawn() {
        return Ended::HandedBack;
    }
    let ended = if let Some(asking) = &job.asking {
        let asked = AssertUnwindSafe(ask(&job, asking)).catch_unwind().await;
        asked.unwrap_or_else(|panic| {
            Ended::Answer(Answer::Unclear { reason: of_panic("transport", &*panic) })
        })
    } else {
        let sent = AssertUnwindSafe(send(&job)).catch_unwind().await;
        sent.unwrap_or_else(|panic| {
            Ended::Outcome(Outcome::unknown(of_panic("transport", &*panic)))
        })
    };
    // Dropping what a transport left in its attempt may panic too.
    let gate = Arc::clone(&job.attempt.gate);
    let _ = std::panic::catch_unwind(AssertUnwindSafe(move || drop(job)));
    match ended {
        // Withdrawn by `send` itself at the timeout: the connection was never made.
        Ended::Outcome(Outcome::NotSent { .. }) => ended,
        _ if gate.is_withdrawn() => Ended::HandedBack,
        ended => ended,
    }
}

async fn send(job: &Job) -> Ended {
    let gate = &job.attempt.gate;
    let mut sending = job.transport.send(&job.attempt);
    let Some(limit) = job.timeout else { return back_or(job, sending.await) };
    let in_time = match tokio::time::timeout(limit, &mut sending).await {
        Ok(outcome) => Ok(outcome),
        Err(_) => tokio::time::timeout(LAST_LOOK, sending).await,
    };
    match in_time {
        Ok(outcome) => back_or(job, outcome),
        Err(_) if gate.is_withdrawn() => Ended::HandedBack,
        Err(_) if gate.withdraw() => {
            let reason = format!("nothing left within the request timeout of {limit:?}");
            Ended::Outcome(Outcome::not_sent(reason))
        }
        Err(_) => {
            let reason = format!("no answer within the request timeout of {limit:?}");
            Ended::Outcome(Outcome::unknown(reason))
        }
    }
}

fn back_or(job: &Job, outcome: Outcome) -> Ended {
    if job.attempt.gate.is_withdrawn() { Ended::HandedBack } else { Ended::Outcome(outcome) }
}

/// Asks once the gate is passed: what was withdrawn, or woke up too late, asks nothing.
async fn ask(job: &Job, asking: &Asking) -> Ended {
    let Attempt { command, source, now, gate, trace, .. } = &job.attempt;
    if gate.begin().is_err() {
        return Ended::HandedBack;
    }
    let (command_id, source) = (command.command_id.clone(), Arc::clone(source));
    let question = Question { command_id, source, now: *now, trace: *trace };
    let limit = asking.within;
    let until = Instant::now() + limit;
    let asked = tokio::time::timeout_at(until, job.transport.ask(&question));
    let Ok(answer) = asked.await else {
        let reason = format!("no answer within the request timeout of {limit:?}");
        return Ended::Answer(Answer::Unclear { reason });
    };
    let destination = &command.destination;
    let asker = control::Asker { transport: &*job.transport, newest: &*asking.newest, until };
    Ended::Answer(asker.checked(answer, destination, &question).await)
}
