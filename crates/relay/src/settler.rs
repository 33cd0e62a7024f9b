//! Attempts that ended and are not settled yet.
//!
//! Guarantees: none is dropped while the store fails; they go by count or by age, not by quiet;
//! one that spoils its batch is settled alone and no longer holds up the others. Does not: write;
//! the relay's exchange does.

use std::collections::VecDeque;
use std::time::Duration;

use counterfoil_core::domain::{Span, TraceContext};
use counterfoil_core::port::store::Settle;
use tokio::time::Instant;

use crate::attempts::earlier;

/// How long an attempt that ended waits for others to be settled with it.
pub(crate) const AGE_MAX: Duration = Duration::from_millis(1);
/// How often a settle is tried alone before it is left to its lease.
const ALONE_TRIES: u32 = 5;
/// The first pause before a settle that failed alone is tried again; doubled each time.
const ALONE_PAUSE: Duration = Duration::from_millis(100);

/// An attempt that ended.
pub(crate) struct Unsettled {
    pub(crate) settle: Settle,
    pub(crate) at: Instant,
    pub(crate) took: Span,
    /// Its lease is known to have gone to another.
    pub(crate) lost: bool,
    /// Why it is handed back, if it is.
    pub(crate) back: &'static str,
    /// Its span, if it has one.
    pub(crate) trace: Option<TraceContext>,
    /// How often another transaction held its delivery.
    pub(crate) held: u32,
}

/// How long a settle is first put off whose delivery another transaction holds; doubled each time.
/// A writer of the same lane holds it for a moment, and the lane waits for this settle.
const HELD_PAUSE: Duration = Duration::from_millis(5);
/// The longest of these pauses: a worker's report may hold it for as long as its transaction lasts.
const HELD_PAUSE_MAX: Duration = Duration::from_millis(50);

/// One settle that goes alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trial {
    /// How often it failed alone while the store worked for others.
    tries: u32,
    /// The exchanges that had worked when it failed last.
    worked: u64,
}

/// One that failed alone.
struct Aside {
    unsettled: Unsettled,
    trial: Trial,
    again_at: Instant,
}

/// A round in which each is settled alone.
#[derive(Default)]
struct Alone {
    left: usize,
    worked: bool,
    failed: usize,
}

/// What a failed exchange means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The store: wait, then try the same again.
    Store,
    /// Perhaps one settle of the batch: each goes alone next.
    Batch,
    /// Perhaps that one settle: it was put aside, and what goes next without it will tell.
    Settle,
}

/// All that wait to be settled.
pub(crate) struct Settler {
    queue: VecDeque<Unsettled>,
    aside: Vec<Aside>,
    /// Those whose delivery another transaction holds, and when each is tried again.
    held: Vec<(Instant, Unsettled)>,
    alone: Option<Alone>,
    /// Exchanges that worked.
    worked: u64,
    /// So many do not wait for more.
    enough: usize,
    /// At most so many go at once.
    most: usize,
}

impl Settler {
    pub(crate) fn new(enough: usize, most: usize) -> Self {
        let (queue, enough) = (VecDeque::new(), enough.max(1));
        let (aside, held) = (Vec::new(), Vec::new());
        Self { queue, aside, held, alone: None, worked: 0, enough, most }
    }

    pub(crate) fn push(&mut self, unsettled: Unsettled) {
        self.queue.push_back(unsettled);
    }

    /// Another transaction holds its delivery: it goes again a little later, with the others.
    pub(crate) fn hold(&mut self, mut unsettled: Unsettled, now: Instant) {
        let pause = HELD_PAUSE.saturating_mul(1 << unsettled.held.min(8)).min(HELD_PAUSE_MAX);
        unsettled.held = unsettled.held.saturating_add(1);
        self.held.push((now + pause, unsettled));
    }

    /// How many wait, those aside and held included.
    pub(crate) fn len(&self) -> usize {
        self.queue.len() + self.aside.len() + self.held.len()
    }

    /// How many wait in the queue.
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    fn next_aside(&self) -> Option<Instant> {
        let held = self.held.iter().map(|(again_at, _)| *again_at);
        self.aside.iter().map(|one| one.again_at).chain(held).min()
    }

    /// When the oldest has waited long enough, unless enough come together before.
    pub(crate) fn due_at(&self) -> Option<Instant> {
        earlier(self.queue.front().map(|oldest| oldest.at + AGE_MAX), self.next_aside())
    }

    /// Whether it is time; nothing is waited for when nothing runs.
    pub(crate) fn is_due(&self, now: Instant, running: usize) -> bool {
        let queued = self.queue.len();
        queued >= self.enough
            || (queued > 0 && (running == 0 || self.alone.is_some()))
            || self.due_at().is_some_and(|at| at <= now)
    }

    /// Takes what goes next: a batch, or one alone.
    pub(crate) fn take(&mut self, now: Instant) -> (Vec<Unsettled>, Option<Trial>) {
        if self.alone.is_some() {
            return (self.queue.pop_front().into_iter().collect(), Some(Trial::default()));
        }
        if let Some(due) = self.aside.iter().position(|one| one.again_at <= now) {
            let Aside { unsettled, trial, .. } = self.aside.swap_remove(due);
            return (vec![unsettled], Some(trial));
        }
        for (_, unsettled) in self.held.extract_if(.., |(again_at, _)| *again_at <= now) {
            self.queue.push_back(unsettled);
        }
        let most = self.most.min(self.queue.len());
        (self.queue.drain(..most).collect(), None)
    }

    /// An exchange worked.
    pub(crate) fn worked(&mut self, trial: Option<Trial>) {
        self.worked += 1;
        if trial == Some(Trial::default())
            && let Some(alone) = &mut self.alone
        {
            alone.worked = true;
            self.one_less();
        }
    }

    /// An exchange failed. Says whose fault that seems to be, and which settle is given up.
    pub(crate) fn failed(
        &mut self,
        batch: Vec<Unsettled>,
        trial: Option<Trial>,
        now: Instant,
    ) -> (Blame, Option<Unsettled>) {
        if let Some(trial) = trial {
            let Some(one) = batch.into_iter().next() else { return (Blame::Store, None) };
            return self.failed_alone(one, trial, now);
        }
        if batch.is_empty() {
            return (Blame::Store, None);
        }
        for unsettled in batch.into_iter().rev() {
            self.queue.push_front(unsettled);
        }
        self.alone = Some(Alone { left: self.queue.len(), ..Alone::default() });
        (Blame::Batch, None)
    }

    fn failed_alone(
        &mut self,
        unsettled: Unsettled,
        trial: Trial,
        now: Instant,
    ) -> (Blame, Option<Unsettled>) {
        let is_first = trial == Trial::default();
        let others_work = is_first || self.worked > trial.worked;
        // While nothing works, nothing is said against this one: it is kept for as long as it
        // takes.
        let tries = trial.tries + u32::from(others_work);
        if tries >= ALONE_TRIES {
            return (Blame::Settle, Some(unsettled));
        }
        let again_at = now + ALONE_PAUSE * 2_u32.pow(tries);
        let trial = Trial { tries, worked: self.worked };
        self.aside.push(Aside { unsettled, trial, again_at });
        let Some(alone) = self.alone.as_mut().filter(|_| is_first) else {
            return (Blame::Settle, None);
        };
        alone.failed += 1;
        if alone.failed > 1 && !alone.worked {
            // Two of two: it is the store, and what was put aside did nothing wrong.
            self.alone = None;
            self.take_back();
            return (Blame::Store, None);
        }
        self.one_less();
        (Blame::Settle, None)
    }

    fn one_less(&mut self) {
        if let Some(alone) = &mut self.alone {
            alone.left -= 1;
            if alone.left == 0 || self.queue.is_empty() {
                self.alone = None;
            }
        }
    }

    /// Those aside after one try go back to the queue.
    fn take_back(&mut self) {
        let (back, aside) = self.aside.drain(..).partition(|one| one.trial.tries == 1);
        self.aside = aside;
        let back: Vec<Aside> = back;
        self.queue.extend(back.into_iter().map(|one| one.unsettled));
    }

    /// Gives up all that wait; how many.
    pub(crate) fn give_up(&mut self) -> usize {
        let left = self.len();
        self.queue.clear();
        self.aside.clear();
        self.held.clear();
        self.alone = None;
        left
    }
}
