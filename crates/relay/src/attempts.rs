//! The attempts that run now: who they are, and which leases must be renewed.
//!
//! Guarantees: never more than there are workers; each is found by its place until it ends, and
//! never by the place of another that had the same worker before. Does not: run them; see `sender`.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{Micros, State, TraceContext};
use counterfoil_core::port::Gate;
use counterfoil_core::port::store::{Claimed, Renew};
use tokio::time::Instant;

use crate::destination::Destinations;

/// The place of one attempt. What is told late of an attempt that was taken out must not be taken
/// for the end of the next one there: that one would be handed back although it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its worker.
    pub(crate) at: usize,
    /// Which of the attempts that this worker ever had; later ones are greater.
    pub(crate) serial: u64,
}

/// One attempt that runs.
pub(crate) struct Running {
    pub(crate) claimed: Claimed,
    /// The place of its destination.
    pub(crate) destination: usize,
    pub(crate) gate: Arc<Gate>,
    /// Until when it may begin, by the boot clock.
    begin_before: Micros,
    /// In the store's time.
    pub(crate) started_at: Micros,
    pub(crate) began: Instant,
    /// Its lease is known to have gone to another.
    pub(crate) lost: bool,
    /// Its span, known when it has ended.
    pub(crate) trace: Option<TraceContext>,
    renew_every: Option<Duration>,
    renew_at: Option<Instant>,
}

impl Running {
    /// An attempt of a claim that was issued at `issued`, begun at `began`.
    pub(crate) fn new(
        claimed: Claimed,
        destination: usize,
        (gate, begin_before): (Arc<Gate>, Micros),
        started_at: Micros,
        renew_every: Option<Duration>,
        issued: Instant,
    ) -> Self {
        // A question is short, and the store renews sends only.
        let renew_every = renew_every.filter(|_| claimed.delivery.state == State::Sending);
        let renew_at = renew_every.and_then(|every| issued.checked_add(every));
        let began = Instant::now();
        let lost = false;
        Self {
            claimed,
            destination,
            gate,
            begin_before,
            started_at,
            began,
            lost,
            trace: None,
            renew_every,
            renew_at,
        }
    }
}

/// A renewal that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Renewing {
    place: Place,
    pub(crate) n: i64,
}

/// The attempts that run now.
pub(crate) struct Attempts {
    places: Vec<Option<(u64, Running)>>,
    vacant: Vec<usize>,
    /// The serial of the next attempt.
    next: u64,
    /// No renewal is due before; may be earlier than any that is.
    next_renewal: Option<Instant>,
    /// No attempt that has not begun is too late before; may be earlier than any that is.
    next_too_late: Option<Micros>,
}

impl Attempts {
    pub(crate) fn new(workers: usize) -> Self {
        let places = (0..workers).map(|_| None).collect();
        Self {
            places,
            vacant: (0..workers).rev().collect(),
            next: 0,
            next_renewal: None,
            next_too_late: None,
        }
    }

    /// How many more may run.
    pub(crate) fn free(&self) -> usize {
        self.vacant.len()
    }

    pub(crate) fn running(&self) -> usize {
        self.places.len() - self.vacant.len()
    }

    /// Takes one in and says its place; gives it back if no worker is free.
    pub(crate) fn begin(&mut self, running: Running) -> Result<Place, Box<Running>> {
        let Some(at) = self.vacant.pop() else { return Err(Box::new(running)) };
        self.next_renewal = earlier(self.next_renewal, running.renew_at);
        let too_late = self.next_too_late.unwrap_or(Micros::LATEST);
        self.next_too_late = Some(too_late.min(running.begin_before));
        let place = Place { at, serial: self.next };
        self.next += 1;
        self.places[at] = Some((place.serial, running));
        Ok(place)
    }

    /// The attempt at `place` ended; `None` if it is no longer there.
    pub(crate) fn end(&mut self, place: Place) -> Option<Running> {
        let slot = self.places.get_mut(place.at)?;
        let (_, running) = slot.take_if(|(serial, _)| *serial == place.serial)?;
        self.vacant.push(place.at);
        Some(running)
    }

    /// Takes out those that can be withdrawn: nothing of them has left.
    pub(crate) fn withdraw(&mut self) -> Vec<(Place, Running)> {
        self.take_out(|running| running.gate.withdraw())
    }

    /// Takes out those that have not begun in time, and so never will; `boot` is the time now.
    pub(crate) fn withdraw_late(&mut self, boot: Micros) -> Vec<(Place, Running)> {
        if self.next_too_late.is_none_or(|at| boot <= at) {
            return Vec::new();
        }
        let late = self.take_out(|running| running.begin_before < boot && running.gate.withdraw());
        let waiting = self.running_now().filter(|running| !running.gate.has_begun());
        self.next_too_late = waiting.map(|running| running.begin_before).min();
        late
    }

    /// Takes out all that is left.
    pub(crate) fn abandon(&mut self) -> Vec<(Place, Running)> {
        self.take_out(|_| true)
    }

    fn take_out(&mut self, which: impl Fn(&Running) -> bool) -> Vec<(Place, Running)> {
        let mut out = Vec::new();
        for (at, slot) in self.places.iter_mut().enumerate() {
            if let Some((serial, running)) = slot.take_if(|(_, running)| which(running)) {
                self.vacant.push(at);
                out.push((Place { at, serial }, running));
            }
        }
        out
    }

    fn running_now(&self) -> impl Iterator<Item = &Running> {
        self.places.iter().flatten().map(|(_, running)| running)
    }

    /// When the next renewal may be due.
    pub(crate) fn next_renewal(&self) -> Option<Instant> {
        self.next_renewal
    }

    /// The renewals that are due; each is due again a third of a lease from now.
    pub(crate) fn renewals(
        &mut self,
        destinations: &Destinations,
        now: Instant,
    ) -> Vec<(Renewing, Renew)> {
        if self.next_renewal.is_none_or(|at| at > now) {
            return Vec::new();
        }
        let mut due = Vec::new();
        let mut next = None;
        for (at, slot) in self.places.iter_mut().enumerate() {
            let Some((serial, running)) = slot else { continue };
            if running.lost {
                continue;
            }
            if running.renew_at.is_some_and(|at| at <= now)
                && let Some(serving) = destinations.get(running.destination)
            {
                let (n, token) = (running.claimed.command.n, running.claimed.delivery.token);
                let terms = Arc::clone(&serving.served.terms);
                let place = Place { at, serial: *serial };
                due.push((Renewing { place, n }, Renew { n, token, terms }));
                running.renew_at = running.renew_every.and_then(|every| now.checked_add(every));
            }
            next = earlier(next, running.renew_at);
        }
        self.next_renewal = next;
        due
    }

    /// These renewals were not written: they are due again at once.
    pub(crate) fn renew_again(&mut self, renewing: &[Renewing], now: Instant) {
        for one in renewing {
            if let Some(running) = self.at(*one) {
                running.renew_at = Some(now);
                self.next_renewal = Some(now);
            }
        }
    }

    /// The attempt that a renewal was about, if it still runs.
    pub(crate) fn at(&mut self, renewing: Renewing) -> Option<&mut Running> {
        let (serial, running) = self.places.get_mut(renewing.place.at)?.as_mut()?;
        (*serial == renewing.place.serial).then_some(running)
    }

    /// This command was taken over: attempts at it that still run have lost their lease.
    pub(crate) fn lose(&mut self, n: i64) {
        for (_, running) in self.places.iter_mut().flatten() {
            if running.claimed.command.n == n {
                running.lost = true;
            }
        }
    }
}

/// The earlier of two times that may not be.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
