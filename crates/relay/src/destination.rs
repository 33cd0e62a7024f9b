//! The destinations that a relay serves, and where it may claim next.
//!
//! Guarantees: destinations take turns at being asked first; one that hangs leaves each other a
//! share of the workers; one whose contract was replaced is claimed from no more. Does not: limit
//! rates or open breakers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use counterfoil_core::domain::{Destination, Micros, Span, Terms};
use counterfoil_core::port::Transport;
use counterfoil_core::port::store::ClaimFrom;
use tokio::time::Instant;

use crate::error::RelayError;
use crate::limits::{Gauge, Limits};
use crate::options::MARGIN;
use crate::options::WORKERS_MAX;

/// The first rest of a destination whose commands come back because their lease was spent.
const REST_FIRST: Duration = Duration::from_millis(100);
/// Its longest rest.
const REST_LONGEST: Duration = Duration::from_secs(5);

/// How many attempts are begun one by one after a transport kept its thread to itself.
const CAUTION: u32 = 10_000;

/// A destination and how it is reached.
#[derive(Clone)]
pub struct Served {
    /// Its name.
    pub destination: Destination,
    /// What it guarantees, and the pace towards it.
    pub terms: Arc<Terms>,
    /// How commands travel there.
    pub transport: Arc<dyn Transport>,
    /// How much this relay gives it.
    pub limits: Limits,
}

impl Served {
    /// A destination without limits of its own.
    #[must_use]
    pub fn new(
        destination: Destination,
        terms: impl Into<Arc<Terms>>,
        transport: Arc<dyn Transport>,
    ) -> Self {
        Self { destination, terms: terms.into(), transport, limits: Limits::default() }
    }

    /// Sets how much this relay gives it.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served")
            .field("destination", &self.destination)
            .field("terms", &self.terms)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Whether the transport of a destination gives its thread back quickly.
#[derive(Debug, Default)]
pub(crate) struct Caution(AtomicU32);

impl Caution {
    /// Attempts must not wait behind one another.
    pub(crate) fn is_due(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// The first step of an attempt was quick, or was not.
    pub(crate) fn learn(&self, quick: bool) {
        if !quick {
            self.0.store(CAUTION, Ordering::Relaxed);
        } else if self.is_due() {
            let less = |left: u32| left.checked_sub(1);
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }
}

/// One destination while the relay runs.
pub(crate) struct Serving {
    pub(crate) served: Served,
    /// `None` for a handler in this process, whose lease is renewed.
    pub(crate) request_timeout: Option<Duration>,
    /// How long after the claim an attempt may still begin.
    pub(crate) begin_within: Span,
    pub(crate) caution: Arc<Caution>,
    pub(crate) gauge: Gauge,
    running: usize,
    closed: bool,
    /// It said that it is gone, and the store does not know yet.
    pub(crate) pausing: bool,
    rest: Option<(Instant, Duration)>,
    misconfigured: Option<String>,
}

impl Serving {
    fn new(served: Served) -> Self {
        let timeout = served.transport.request_timeout();
        let begin_within =
            served.terms.pace.lease.minus(MARGIN).minus(timeout.unwrap_or(Span::ZERO));
        Self {
            request_timeout: timeout.map(Span::to_std),
            begin_within,
            caution: Arc::default(),
            gauge: Gauge::new(served.limits),
            running: 0,
            closed: false,
            pausing: false,
            rest: None,
            misconfigured: None,
            served,
        }
    }

    fn check(&self) -> Result<(), RelayError> {
        let destination = || self.served.destination.to_string();
        let terms = &self.served.terms;
        terms.check().map_err(|why| RelayError::Terms { destination: destination(), why })?;
        if self.begin_within == Span::ZERO {
            let request_timeout = self.request_timeout.map_or(Span::ZERO, Span::from_std);
            return Err(RelayError::LeaseTooShort {
                destination: destination(),
                lease_ms: terms.pace.lease.as_micros() / 1_000,
                request_timeout_ms: request_timeout.as_micros() / 1_000,
            });
        }
        Ok(())
    }

    /// How often the lease of a running attempt is renewed; `None` for never.
    pub(crate) fn renew_every(&self) -> Option<Duration> {
        let third = self.served.terms.pace.lease.times(1, 3).to_std();
        self.request_timeout.is_none().then_some(third)
    }

    /// Whether the destination newly says that it is set up wrongly; `None`: it no longer does.
    pub(crate) fn is_newly_misconfigured(&mut self, reason: Option<&str>) -> bool {
        let news = reason.is_some() && self.misconfigured.as_deref() != reason;
        if self.misconfigured.as_deref() != reason {
            self.misconfigured = reason.map(Into::into);
        }
        news
    }
}

/// All destinations of a relay.
pub(crate) struct Destinations {
    all: Vec<Serving>,
    places: HashMap<Destination, usize>,
    open: Arc<[Destination]>,
    /// What each destination may always have of the workers.
    share: usize,
    /// Who is asked first next time.
    first: usize,
}

impl Destinations {
    /// Takes them if they keep the rules.
    pub(crate) fn new(served: Vec<Served>, workers: usize) -> Result<Self, RelayError> {
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
        let mut destinations = Self { all, places, open: Arc::new([]), share, first: 0 };
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

    /// An attempt began there.
    pub(crate) fn began(&mut self, place: usize, n: i64) {
        if let Some(serving) = self.all.get_mut(place) {
            serving.running += 1;
            serving.gauge.claimed(n);
        }
    }

    /// An attempt ended there, begun or not.
    pub(crate) fn ended(&mut self, place: usize, begun: bool) {
        if let Some(serving) = self.all.get_mut(place) {
            serving.running = serving.running.saturating_sub(1);
            if begun {
                serving.rest = None;
            }
        }
    }

    /// Its stored contract is another one now; whether that is news.
    pub(crate) fn close(&mut self, destination: &Destination) -> bool {
        let place = self.place(destination);
        let Some(serving) = place.and_then(|place| self.all.get_mut(place)) else { return false };
        let news = !serving.closed;
        serving.closed = true;
        self.list_open();
        news
    }

    /// Its attempts come too late to begin: it rests a while, so that claims do not spin.
    pub(crate) fn rest(&mut self, place: usize, now: Instant) {
        let Some(serving) = self.all.get_mut(place) else { return };
        let length = match serving.rest {
            Some((until, _)) if until > now => return,
            Some((_, length)) => (length * 2).min(REST_LONGEST),
            None => REST_FIRST,
        };
        serving.rest = Some((now + length, length));
    }

    /// Where to claim with `free` workers: oldest due first inside each, taking turns among them.
    pub(crate) fn claim_from(&mut self, free: usize, now: Instant, boot: Micros) -> Vec<ClaimFrom> {
        let count = self.all.len();
        let kept = |serving: &Serving| {
            if serving.closed { 0 } else { self.share.saturating_sub(serving.running) }
        };
        let kept_for_all: usize = self.all.iter().map(kept).sum();
        let mut claims = Vec::new();
        for turn in 0..count {
            let serving = &mut self.all[(self.first + turn) % count];
            let rests = serving.rest.is_some_and(|(until, _)| until > now);
            if serving.closed || serving.pausing || rests {
                continue;
            }
            let kept = self.share.saturating_sub(serving.running);
            let limit = free.saturating_sub(kept_for_all - kept);
            let limit = serving.gauge.allows(limit, serving.running, boot);
            if limit > 0 {
                claims.push(ClaimFrom {
                    destination: serving.served.destination.clone(),
                    limit,
                    terms: Arc::clone(&serving.served.terms),
                });
            }
        }
        self.first = (self.first + 1) % count;
        claims
    }
}
