//! The destinations that a relay serves, and where it may claim next.
//!
//! Guarantees: destinations take turns at being asked first; one that hangs leaves each other a
//! share of the workers; one that is held back is not asked, and nothing due there is forgotten.
//! Does not: know what holds one back; see `serving` and `limits`.

use std::collections::HashMap;
use std::sync::Arc;

use counterfoil_core::domain::{Destination, Micros};
use counterfoil_core::port::store::{ClaimFrom, Claimed};
use tokio::time::Instant;

use crate::attempts::earlier;
use crate::board::Board;
use crate::error::RelayError;
use crate::options::WORKERS_MAX;
use crate::serving::{Served, Serving};

/// All destinations of a relay.
pub(crate) struct Destinations {
    all: Vec<Serving>,
    places: HashMap<Destination, usize>,
    open: Arc<[Destination]>,
    /// What each destination may always have of the workers.
    share: usize,
    /// Who is asked first next time.
    first: usize,
    is_short: bool,
    board: Arc<Board>,
    /// Those whose standing is not on the board yet.
    unposted: Vec<usize>,
}

impl Destinations {
    /// Takes them if they keep the rules.
    pub(crate) fn new(
        served: Vec<Served>,
        workers: usize,
        board: Arc<Board>,
    ) -> Result<Self, RelayError> {
        if served.is_empty() {
            return Err(RelayError::NoDestination);
        }
        if workers == 0 || workers > WORKERS_MAX {
            return Err(RelayError::Workers { workers });
        }
        let share = match served.len() {
            1 => 0,
            count if workers < 2 * count => 0,
            count => (workers / (4 * count)).max(1),
        };
        let all: Vec<_> = served.into_iter().map(Serving::new).collect();
        let mut places = HashMap::new();
        for (place, serving) in all.iter().enumerate() {
            serving.check()?;
            if places.insert(serving.served.destination.clone(), place).is_some() {
                let destination = serving.served.destination.to_string();
                return Err(RelayError::DuplicateDestination { destination });
            }
        }
        let unposted = (0..all.len()).collect();
        let open = Arc::new([]);
        let is_short = false;
        let mut destinations =
            Self { all, places, open, share, first: 0, is_short, board, unposted };
        destinations.list_open();
        Ok(destinations)
    }

    fn list_open(&mut self) {
        let open = self.all.iter().filter(|serving| !serving.closed);
        self.open = open.map(|serving| serving.served.destination.clone()).collect();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Serving> {
        self.all.iter()
    }

    pub(crate) fn get(&self, place: usize) -> Option<&Serving> {
        self.all.get(place)
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut Serving> {
        self.all.get_mut(place)
    }

    pub(crate) fn place(&self, destination: &Destination) -> Option<usize> {
        self.places.get(destination).copied()
    }

    /// Those that are still claimed from.
    pub(crate) fn open(&self) -> Arc<[Destination]> {
        Arc::clone(&self.open)
    }

    /// Takes a change to one destination, which the board shows next.
    pub(crate) fn change(&mut self, place: usize) -> Option<&mut Serving> {
        let serving = self.all.get_mut(place)?;
        if self.unposted.last() != Some(&place) {
            self.unposted.push(place);
        }
        Some(serving)
    }

    /// Shows what changed.
    pub(crate) fn post(&mut self, now: Instant, boot: impl FnOnce() -> Micros) {
        if self.unposted.is_empty() {
            return;
        }
        let boot = boot();
        self.unposted.sort_unstable();
        self.unposted.dedup();
        for place in self.unposted.drain(..) {
            self.all[place].post(&self.board, now, boot);
        }
    }

    /// Its stored contract is another one now; whether that is news.
    pub(crate) fn close(&mut self, destination: &Destination) -> bool {
        let place = self.place(destination);
        let Some(serving) = place.and_then(|place| self.change(place)) else { return false };
        let news = !serving.closed;
        serving.closed = true;
        self.list_open();
        news
    }

    /// Where to claim with `free` workers: oldest due first inside each, taking turns among them.
    pub(crate) fn claim_from(&mut self, free: usize, now: Instant, boot: Micros) -> Vec<ClaimFrom> {
        let count = self.all.len();
        let kept = |serving: &Serving| {
            let share = self.share.min(serving.gauge.concurrency());
            if serving.closed { 0 } else { share.saturating_sub(serving.running) }
        };
        let kept: Vec<_> = self.all.iter().map(kept).collect();
        let kept_for_all: usize = kept.iter().sum();
        let mut claims = Vec::new();
        self.is_short = false;
        for turn in 0..count {
            let place = (self.first + turn) % count;
            let serving = &mut self.all[place];
            let wanted = free.saturating_sub(kept_for_all - kept[place]);
            self.is_short |= wanted == 0 && !serving.closed;
            let limit = serving.room(wanted, now, boot);
            serving.cut = (limit < wanted).then_some(limit);
            if limit > 0 {
                claims.push(ClaimFrom {
                    destination: serving.served.destination.clone(),
                    limit,
                    terms: Arc::clone(&serving.served.terms),
                });
            } else if wanted > 0 {
                serving.held = true;
            }
        }
        self.first = (self.first + 1) % count;
        claims
    }

    /// Whether the last claim asked for nothing somewhere, since the free workers are the others'.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Where something due could be claimed; the others are remembered.
    pub(crate) fn lookable(&mut self, now: Instant, boot: Micros) -> Vec<Destination> {
        let mut names = Vec::new();
        for serving in self.all.iter_mut().filter(|serving| !serving.closed) {
            if serving.room(1, now, boot) > 0 {
                names.push(serving.served.destination.clone());
            } else {
                serving.held = true;
            }
        }
        names
    }

    /// A claim came to its end: where it found all that it was allowed to, more may be due.
    pub(crate) fn found(&mut self, claimed: &[Claimed]) {
        for serving in &mut self.all {
            if let Some(limit) = serving.cut.take() {
                let here = |one: &&Claimed| one.command.destination == serving.served.destination;
                serving.held |= claimed.iter().filter(here).count() >= limit;
            }
        }
    }

    /// Whether one that was held back may be claimed from now.
    pub(crate) fn released(&mut self, now: Instant, boot: impl FnOnce() -> Micros) -> bool {
        if !self.holds_back() {
            return false;
        }
        let boot = boot();
        let mut released = false;
        for serving in self.all.iter_mut().filter(|serving| serving.held) {
            if serving.closed || serving.room(1, now, boot) > 0 {
                serving.held = false;
                released |= !serving.closed;
            }
        }
        released
    }

    /// Whether something may be due where nothing may be claimed.
    pub(crate) fn holds_back(&self) -> bool {
        self.all.iter().any(|serving| serving.held)
    }

    /// When the clock alone may release one that is held back.
    pub(crate) fn released_at(
        &self,
        now: Instant,
        boot: impl FnOnce() -> Micros,
    ) -> Option<Instant> {
        if !self.holds_back() {
            return None;
        }
        let boot = boot();
        let held = self.all.iter().filter(|serving| serving.held);
        held.map(|serving| serving.room_at(now, boot)).fold(None, earlier)
    }
}
