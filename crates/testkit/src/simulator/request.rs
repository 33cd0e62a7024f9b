//! What a process asks of the world: a write, a send, a question.
//!
//! Guarantees: whoever asks waits until the world answers, or for ever. Does not: decide what
//! becomes of it; the world does.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use counterfoil_core::domain::{
    Answer, Contract, Destination, Micros, Outcome, Span, Stream, Token,
};
use counterfoil_core::port::store::{Declared, Exchange, Exchanged, StoreError, Swept};
use counterfoil_core::port::workflow::{Aside, Kept, Quarantine, Step, StepRefused};
use counterfoil_core::port::{Announce, Notice};
use tokio::sync::{Notify, oneshot};

use super::breaker::{Gauges, Opened};
use super::dice::Dice;
use super::sim_clock::ProcessClock;

/// A durable write.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Exchange(Exchange),
    Sweep(usize, Option<Announce>),
    Declare(Destination, Box<Contract>, bool),
    Pause(Destination, String, String),
    Steps(Vec<Step>),
    Quarantine(Quarantine),
    Keep(usize, Span),
    LetGo(String, Vec<Stream>),
}

/// What a write did.
#[derive(Clone, Debug)]
pub(super) enum Written {
    Exchange(Exchanged),
    Swept(Swept),
    Declared(Declared),
    Paused(bool),
    Steps(Vec<Result<(), StepRefused>>),
    Quarantined(Aside),
    Kept(Kept),
    LetGo,
}

/// Where the answer of a write goes.
pub(super) type WriteReply = oneshot::Sender<Result<Written, StoreError>>;

/// A send whose first byte leaves now.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) site: usize,
    pub(super) id: String,
    pub(super) body: Vec<u8>,
    pub(super) token: Token,
    pub(super) not_before: Option<Micros>,
    /// The store's time at which the attempt began.
    pub(super) began: Micros,
    pub(super) reply: oneshot::Sender<Outcome>,
}

/// A question that leaves now.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) site: usize,
    pub(super) id: String,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// What its process was like when a write was issued.
#[derive(Clone, Debug, Default)]
pub(super) struct Issued {
    /// When, in milliseconds.
    pub(super) at_ms: u64,
    /// Which of its breakers were open.
    pub(super) opened: Opened,
    /// When they last closed.
    pub(super) closed: Opened,
}

/// What is asked of the world.
#[derive(Debug)]
pub(super) enum Request {
    Write(Box<Write>, WriteReply, Issued),
    Send(Sending),
    Ask(Asking),
}

/// What a process and the world share.
#[derive(Debug)]
pub(super) struct Mailbox {
    pub(super) clock: Arc<ProcessClock>,
    /// Requests and when they were made, in milliseconds.
    requests: Mutex<VecDeque<(u64, Request)>>,
    has_requests: AtomicBool,
    notices: Mutex<Vec<Notice>>,
    gauges: Mutex<Gauges>,
    dice: Mutex<Dice>,
    /// Wakes the step under way.
    step: Mutex<Option<Waker>>,
    must_halt: AtomicBool,
    /// Something was committed by another.
    pub(super) hint: Notify,
    /// How often a read of the store fails, in a thousand.
    pub(super) read_fails: u64,
    /// The world is healthy: nothing fails any more.
    pub(super) healthy: Arc<AtomicBool>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mailbox {
    pub(super) fn new(
        clock: Arc<ProcessClock>,
        dice: Dice,
        read_fails: u64,
        healthy: Arc<AtomicBool>,
    ) -> Self {
        Self {
            clock,
            requests: Mutex::default(),
            has_requests: AtomicBool::new(false),
            notices: Mutex::default(),
            gauges: Mutex::default(),
            dice: Mutex::new(dice),
            step: Mutex::default(),
            must_halt: AtomicBool::new(false),
            hint: Notify::new(),
            read_fails,
            healthy,
        }
    }

    /// A request leaves the process.
    pub(super) fn post(&self, request: Request) {
        locked(&self.requests).push_back((self.clock.now_ms(), request));
        self.has_requests.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_requests(&self) -> bool {
        self.has_requests.load(Ordering::Relaxed)
    }

    /// When the oldest request was made.
    pub(super) fn oldest(&self) -> Option<u64> {
        locked(&self.requests).front().map(|(at, _)| *at)
    }

    pub(super) fn take(&self) -> Option<(u64, Request)> {
        let mut requests = locked(&self.requests);
        let oldest = requests.pop_front();
        self.has_requests.store(!requests.is_empty(), Ordering::Relaxed);
        oldest
    }

    /// A write, with what its process is like now.
    pub(super) fn write(&self, write: Write, reply: WriteReply) {
        let issued = self.gauge(|gauges| Issued {
            at_ms: self.clock.now_ms(),
            opened: gauges.opened.clone(),
            closed: gauges.closed.clone(),
        });
        self.post(Request::Write(Box::new(write), reply, issued));
    }

    /// Looks at its limits.
    pub(super) fn gauge<T>(&self, look: impl FnOnce(&mut Gauges) -> T) -> T {
        look(&mut locked(&self.gauges))
    }

    pub(super) fn say(&self, notice: &Notice) {
        let now_ms = self.clock.now_ms();
        match notice {
            Notice::BreakerOpened { destination, .. } => {
                self.gauge(|it| it.opened.insert(destination.to_string(), now_ms));
            }
            Notice::BreakerClosed { destination } => {
                self.gauge(|it| {
                    it.opened.remove(destination.as_str());
                    it.closed.insert(destination.to_string(), now_ms);
                });
            }
            _ => {}
        }
        locked(&self.notices).push(notice.clone());
    }

    pub(super) fn said(&self) -> Vec<Notice> {
        std::mem::take(&mut locked(&self.notices))
    }

    /// A draw of this process.
    pub(super) fn draw<T>(&self, draw: impl FnOnce(&mut Dice) -> T) -> T {
        draw(&mut locked(&self.dice))
    }

    /// Whether something goes wrong now, in so many of a thousand.
    pub(super) fn fails(&self, permille: u64) -> bool {
        !self.healthy.load(Ordering::Relaxed) && self.draw(|dice| dice.chance(permille))
    }

    /// The process has nothing to do until its next timer: it halts if the world must look first.
    pub(super) fn idle(&self) {
        if self.has_requests() {
            self.halt();
        }
    }

    /// Ends the step under way.
    pub(super) fn halt(&self) {
        self.must_halt.store(true, Ordering::Relaxed);
        if let Some(step) = locked(&self.step).take() {
            step.wake();
        }
    }

    /// Whether the step shall end; else `waker` will be told.
    pub(super) fn shall_halt(&self, waker: &Waker) -> bool {
        if self.must_halt.swap(false, Ordering::Relaxed) {
            return true;
        }
        *locked(&self.step) = Some(waker.clone());
        false
    }
}
