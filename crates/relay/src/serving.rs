//! One destination while the relay runs: how it is reached, and what holds claims back there.
//!
//! Guarantees: what holds claims back is known with the time at which it ends, so that nobody has
//! to ask the store meanwhile. Does not: know the other destinations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use counterfoil_core::domain::{Destination, Micros, Span, Terms};
use counterfoil_core::port::Transport;
use tokio::time::Instant;

use crate::board::{Board, BreakerStatus, Standing};
use crate::error::RelayError;
use crate::limits::{Gauge, Limits};
use crate::options::MARGIN;

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
    /// How often its breaker opened.
    pub(crate) opened: u64,
    /// Attempts and questions under way.
    pub(crate) running: usize,
    /// Its stored contract is another one now.
    pub(crate) closed: bool,
    /// It said that it is gone, and the store does not know yet.
    pub(crate) pausing: bool,
    /// More may be due there than was asked for.
    pub(crate) held: bool,
    /// The last claim asked for no more than this there, because of what holds it back.
    pub(crate) cut: Option<usize>,
    begun: u64,
    rest: Option<(Instant, Duration)>,
    misconfigured: Option<String>,
}

impl Serving {
    pub(crate) fn new(served: Served) -> Self {
        let timeout = served.transport.request_timeout();
        let begin_within =
            served.terms.pace.lease.minus(MARGIN).minus(timeout.unwrap_or(Span::ZERO));
        Self {
            request_timeout: timeout.map(Span::to_std),
            begin_within,
            caution: Arc::default(),
            gauge: Gauge::new(served.limits),
            opened: 0,
            running: 0,
            closed: false,
            pausing: false,
            held: false,
            cut: None,
            begun: 0,
            rest: None,
            misconfigured: None,
            served,
        }
    }

    pub(crate) fn check(&self) -> Result<(), RelayError> {
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

    /// An attempt at command `n` begins.
    pub(crate) fn began(&mut self, n: i64, boot: Micros) {
        self.running += 1;
        self.begun += 1;
        self.gauge.claimed(n, boot);
    }

    /// An attempt ended, begun or not.
    pub(crate) fn ended(&mut self, begun: bool) {
        self.running = self.running.saturating_sub(1);
        if begun {
            self.rest = None;
        }
    }

    /// Its attempts come too late to begin: it rests a while, so that claims do not spin.
    pub(crate) fn rest(&mut self, now: Instant) {
        let length = match self.rest {
            Some((until, _)) if until > now => return,
            Some((_, length)) => (length * 2).min(REST_LONGEST),
            None => REST_FIRST,
        };
        self.rest = Some((now + length, length));
    }

    /// How many of the `wanted` may be claimed now.
    pub(crate) fn room(&mut self, wanted: usize, now: Instant, boot: Micros) -> usize {
        let rests = self.rest.is_some_and(|(until, _)| until > now);
        if self.closed || self.pausing || rests {
            return 0;
        }
        self.gauge.allows(wanted, self.running, boot)
    }

    /// When the clock alone may make room; `None`: only what the relay hears can.
    pub(crate) fn room_at(&self, now: Instant, boot: Micros) -> Option<Instant> {
        if self.closed || self.pausing {
            return None;
        }
        let gauge_at = now.checked_add(self.gauge.allows_at(self.running)?.since(boot).to_std())?;
        Some(self.rest.map_or(gauge_at, |(until, _)| until.max(gauge_at)))
    }

    /// Shows how it stands.
    pub(crate) fn post(&self, board: &Board, now: Instant, boot: Micros) {
        let breaker = self.gauge.breaker();
        let probes_at = breaker.probes_at().filter(|_| !breaker.is_probing());
        let probes_at = probes_at.and_then(|at| now.checked_add(at.since(boot).to_std()));
        let standing = Standing {
            running: self.running,
            begun: self.begun,
            concurrency: self.served.limits.concurrency.map(|most| most.max(1)),
            rate: self.served.limits.rate,
            breaker: match (breaker.is_open(), breaker.is_probing()) {
                (false, _) => BreakerStatus::Closed,
                (true, false) => BreakerStatus::Open { probes_in: Span::ZERO },
                (true, true) => BreakerStatus::Probing,
            },
            opened: self.opened,
            contract_differs: self.closed,
        };
        board.post(&self.served.destination, standing, probes_at);
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
