//! Attempts that ended and are not settled yet.
//!
//! Guarantees: none is dropped while the store fails; they go by count or by age, not by quiet;
//! one that spoils its batch is settled alone and no longer holds up the others. Does not: write;
//! the relay's exchange does.

use std::collections::VecDeque;
use std::time::Duration;

use counterfoil_core::domain::Span;
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
}

/// One that failed alone.
struct Aside {
    unsettled: Unsettled,
    tries: u32,
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
    /// That one settle: it was put aside.
    Settle,
}

/// All that wait to be settled.
pub(crate) struct Settler {
    queue: VecDeque<Unsettled>,
    aside: Vec<Aside>,
    alone: Option<Alone>,
    /// So many do not wait for more.
    enough: usize,
    /// At most so many go at once.
    most: usize,
}

impl Settler {
    pub(crate) fn new(enough: usize, most: usize) -> Self {
        let queue = VecDeque::new();
        Self { queue, aside: Vec::new(), alone: None, enough: enough.max(1), most }
    }

    pub(crate) fn push(&mut self, unsettled: Unsettled) {
        self.queue.push_back(unsettled);
    }

    /// How many wait, those aside included.
    pub(crate) fn len(&self) -> usize {
        self.queue.len() + self.aside.len()
    }

    /// How many wait in the queue.
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    fn next_aside(&self) -> Option<Instant> {
        self.aside.iter().map(|one| one.again_at).min()
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

    /// Takes what goes next: a batch, or one alone with the number of its tries.
    pub(crate) fn take(&mut self, now: Instant) -> (Vec<Unsettled>, Option<u32>) {
        if self.alone.is_some() {
            return (self.queue.pop_front().into_iter().collect(), Some(0));
        }
        if let Some(due) = self.aside.iter().position(|one| one.again_at <= now) {
            let Aside { unsettled, tries, .. } = self.aside.swap_remove(due);
            return (vec![unsettled], Some(tries));
        }
        let most = self.most.min(self.queue.len());
        (self.queue.drain(..most).collect(), None)
    }

    /// They were settled.
    pub(crate) fn worked(&mut self, tries: Option<u32>) {
        if tries == Some(0)
            && let Some(alone) = &mut self.alone
        {
            alone.worked = true;
            self.one_less();
        }
    }

    /// They were not. Says whose fault that seems to be, and which settle is given up.
    pub(crate) fn failed(
        &mut self,
        batch: Vec<Unsettled>,
        tries: Option<u32>,
        now: Instant,
    ) -> (Blame, Option<Unsettled>) {
        match tries {
            None => {
                let blame = if batch.is_empty() { Blame::Store } else { Blame::Batch };
                for unsettled in batch.into_iter().rev() {
                    self.queue.push_front(unsettled);
                }
                if blame == Blame::Batch {
                    self.alone = Some(Alone { left: self.queue.len(), ..Alone::default() });
                }
                (blame, None)
            }
            Some(tries) => self.failed_alone(batch, tries, now),
        }
    }

    fn failed_alone(
        &mut self,
        batch: Vec<Unsettled>,
        tries: u32,
        now: Instant,
    ) -> (Blame, Option<Unsettled>) {
        let given_up = batch.into_iter().find_map(|unsettled| {
            let tries = tries + 1;
            if tries >= ALONE_TRIES {
                return Some(unsettled);
            }
            let again_at = now + ALONE_PAUSE * 2_u32.pow(tries);
            self.aside.push(Aside { unsettled, tries, again_at });
            None
        });
        let Some(alone) = &mut self.alone else { return (Blame::Settle, given_up) };
        alone.failed += 1;
        if alone.failed > 1 && !alone.worked {
            // Two of two: it is the store, and what was put aside did nothing wrong.
            self.alone = None;
            self.take_back();
            return (Blame::Store, given_up);
        }
        self.one_less();
        (Blame::Settle, given_up)
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
        let (back, aside) = self.aside.drain(..).partition(|one| one.tries == 1);
        self.aside = aside;
        let back: Vec<Aside> = back;
        self.queue.extend(back.into_iter().map(|one| one.unsettled));
    }

    /// Gives up all that wait.
    pub(crate) fn give_up(&mut self) -> usize {
        let left = self.len();
        self.queue.clear();
        self.aside.clear();
        self.alone = None;
        left
    }
}
