//! The thread on which users' functions run.
//!
//! Guarantees: a function that does not return is noticed and left alone on its thread; another
//! thread takes its place. Does not: end it; no thread can be ended from outside.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::Program;
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// A function is looked at so often within its time. Looks are counted beside the clock, so that a
/// process that stood still for hours blames no function.
const LOOKS: u32 = 8;

/// What a thread is at.
#[derive(Clone, Debug)]
pub(super) struct At {
    pub(super) stream: Stream,
    pub(super) program: Program,
    /// The head of what is committed.
    pub(super) expected_seq: i64,
    /// Empty while the history is folded.
    pub(super) input: String,
    since: Instant,
}

/// The thread gives no answer.
#[derive(Debug)]
pub(super) struct Lost {
    /// What it was at; `None`: there is no thread to be had.
    pub(super) at: Option<At>,
    /// Within how long; `None`: it died.
    pub(super) within: Option<Duration>,
}

/// Where a thread says what it is at.
#[derive(Clone, Default)]
pub(super) struct Marker(Arc<Mutex<Option<At>>>);

impl Marker {
    pub(super) fn begin(&self, of: (&Stream, &Program), expected_seq: i64, input: &str) {
        let (stream, program) = (of.0.clone(), of.1.clone());
        let (input, since) = (input.to_owned(), Instant::now());
        *self.locked() = Some(At { stream, program, expected_seq, input, since });
    }

    pub(super) fn end(&self) {
        *self.locked() = None;
    }

    fn now(&self) -> Option<At> {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, Option<At>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread on which users' functions run.
pub(super) struct Decider {
    thread: Mutex<Option<(mpsc::Sender<Job>, Marker)>>,
    at_most: Duration,
}

impl Decider {
    pub(super) fn new(at_most: Duration) -> Self {
        Self { thread: Mutex::new(None), at_most }
    }

    /// Runs `job` on the thread, which says what it is at by the marker.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Marker) -> T + Send + 'static,
    ) -> Result<T, Box<Lost>> {
        if self.at_most.is_zero() {
            return Ok(job(&Marker::default()));
        }
        let (tell, mut told) = oneshot::channel();
        let no_thread = || Box::new(Lost { at: None, within: None });
        let (thread, marker) = self.thread().ok_or_else(no_thread)?;
        let own = marker.clone();
        let job = move || {
            let done = job(&own);
            own.end();
            // Nobody may wait any more.
            let _unheard = tell.send(done);
        };
        thread.send(Box::new(job)).map_err(|_| self.leave(None, None))?;
        let look_again = (self.at_most / LOOKS).max(Duration::from_millis(1));
        let (mut seen, mut looks) = (None, 0);
        loop {
            match tokio::time::timeout(look_again, &mut told).await {
                Ok(Ok(done)) => return Ok(done),
                // A value of the user's panicked as it was dropped.
                Ok(Err(_)) => return Err(self.leave(marker.now(), None)),
                Err(_) => {
                    let at = marker.now();
                    let since = at.as_ref().map(|at| at.since);
                    looks = if since == seen { looks + 1 } else { 0 };
                    seen = since;
                    let late = at.filter(|at| at.since.elapsed() > self.at_most);
                    if looks >= LOOKS && late.is_some() {
                        return Err(self.leave(late, Some(self.at_most)));
                    }
                }
            }
        }
    }

    /// Another thread is taken for the next job.
    fn leave(&self, at: Option<At>, within: Option<Duration>) -> Box<Lost> {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Box::new(Lost { at, within })
    }

    fn thread(&self) -> Option<(mpsc::Sender<Job>, Marker)> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (send, receive) = mpsc::channel::<Job>();
            let work = move || receive.into_iter().for_each(|job| job());
            let spawned = std::thread::Builder::new().name("workflow-decider".into()).spawn(work);
            spawned.ok()?;
            *thread = Some((send, Marker::default()));
        }
        thread.clone()
    }
}
