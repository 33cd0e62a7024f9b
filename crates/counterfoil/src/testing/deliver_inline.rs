//! Delivers everything that is due, in the calling test.
//!
//! Guarantees: by the real relay, one attempt after another: destinations in the order given, in
//! each the oldest due first, and again until nothing is due anywhere; so what a handler enqueues
//! is delivered too. With a clock that is held, the same commands and seed give the same run. Does
//! not: leave anything running; keep to limits of rate and concurrency, nor to a breaker.

use std::future::IntoFuture;
use std::time::{Duration, Instant};

use counterfoil_core::domain::{Destination, Micros, Span};
use counterfoil_core::port::{BoxFuture, Store};
use counterfoil_relay::Served;
use counterfoil_testkit::TestClock;

use super::delivered::{self, Delivered};
use super::pass::{Book, Hook, pass};
use super::{fail, must};

/// How long a delivery may take by default, in the machine's time: 60 s.
pub const WITHIN: Duration = Duration::from_secs(60);

/// The most attempts of one delivery by default.
pub const ATTEMPTS_MAX: usize = 10_000;

/// SQL writes times in milliseconds: what is due that soon is waited for.
const SOON: Span = Span::from_millis(10);

/// How often nothing may happen although something is said to be due.
const BARREN_MAX: u32 = 3;

/// Delivers everything that is due to these destinations, and says what came of it.
///
/// Await it, or call [`DeliverAll::blocking`] in a test without a runtime. What fails and is due
/// again later is left, unless time is advanced. For a [`TempStore`](super::TempStore) call its
/// own [`deliver_all_inline`](super::TempStore::deliver_all_inline), which holds its clock; with
/// the machine's clock a retry may come due while the rest is delivered.
///
/// # Panics
/// Where it is awaited: the relay refuses its terms, the store fails, a handler does not return in
/// time, or attempts go on without end.
///
/// # Example
/// ```
/// use counterfoil::Command;
/// use counterfoil::domain::Span;
/// use counterfoil::relay::{HandlerError, handler};
/// use counterfoil::testing::{TempStore, served};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = TempStore::new();
/// let pay = Command::json("pay:1", "bank", "pay", &serde_json::json!({"cents": 500}))?;
/// store.enqueue_blocking(vec![pay])?;
/// // It fails at first.
/// let bank = handler(|attempt| async move {
///     if attempt.number < 3 { Err(HandlerError::not_sent("closed")) } else { Ok(()) }
/// });
///
/// let delivered = store
///     .deliver_all_inline(vec![served("bank", bank)])
///     .advancing_time(store.clock(), Span::from_secs(3600))
///     .blocking();
/// assert_eq!((delivered.count("not_sent"), delivered.count("completed")), (2, 1));
/// delivered.assert_nothing_left();
/// # Ok(())
/// # }
/// ```
pub fn deliver_all_inline<S: Store>(store: &S, served: Vec<Served>) -> DeliverAll<S> {
    DeliverAll {
        store: store.clone(),
        served,
        hands: None,
        limit: Span::ZERO,
        within: WITHIN,
        attempts_max: ATTEMPTS_MAX,
        seed: 0,
        hook: None,
    }
}

/// A delivery that has not begun; see [`deliver_all_inline`].
#[must_use = "nothing is delivered before it is awaited, or `blocking` is called"]
pub struct DeliverAll<S> {
    store: S,
    served: Vec<Served>,
    hands: Option<Hands>,
    limit: Span,
    within: Duration,
    attempts_max: usize,
    seed: u64,
    hook: Option<Hook>,
}

/// A test's clock, whichever it is.
struct Hands {
    advance: Box<dyn Fn(Span) + Send + Sync>,
    hold: Box<dyn Fn(bool) + Send + Sync>,
}

/// A clock that stands still; it runs on when this is dropped, by a panic too.
struct Held<'a>(Option<&'a Hands>);

impl<'a> Held<'a> {
    fn new(hands: Option<&'a Hands>) -> Self {
        let held = Self(hands);
        held.set(true);
        held
    }

    fn set(&self, held: bool) {
        if let Some(hands) = self.0 {
            (hands.hold)(held);
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.set(false);
    }
}

impl<S: Store> DeliverAll<S> {
    /// Holds the clock of the store while it delivers, so that what fails is not due again by the
    /// time that delivering took. [`TempStore::deliver_all_inline`] does so by itself.
    ///
    /// [`TempStore::deliver_all_inline`]: super::TempStore::deliver_all_inline
    pub fn holding(mut self, clock: &impl TestClock) -> Self {
        let (one, other) = (clock.clone(), clock.clone());
        self.hands = Some(Hands {
            advance: Box::new(move |span| one.advance(span)),
            hold: Box::new(move |held| if held { other.hold() } else { other.release() }),
        });
        self
    }

    /// Lets time pass until the next due time whenever nothing is due, but not further than
    /// `limit` from now: retries, time-outs of receipts and later commands come about without
    /// waiting. The store must tell the time by this clock, which is held meanwhile.
    pub fn advancing_time(self, clock: &impl TestClock, limit: Span) -> Self {
        let mut holding = self.holding(clock);
        holding.limit = limit;
        holding
    }

    /// Sets how long it may take, in the machine's time. Default [`WITHIN`].
    pub const fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Sets the most attempts. Default [`ATTEMPTS_MAX`].
    pub const fn attempts_max(mut self, attempts: usize) -> Self {
        self.attempts_max = attempts;
        self
    }

    /// Sets where the jitter of retries begins. Default 0, so that each run is alike.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(super) fn hook(mut self, hook: Hook) -> Self {
        self.hook = Some(hook);
        self
    }

    /// Delivers from a test without a runtime, on the calling thread.
    ///
    /// # Panics
    /// As [`deliver_all_inline`]; or it is called inside a runtime: await it there.
    #[must_use = "it says what is left"]
    pub fn blocking(self) -> Delivered {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        must(runtime, "starting a runtime").block_on(self.run())
    }

    /// Delivers.
    async fn run(self) -> Delivered {
        let names: Vec<_> = self.served.iter().map(|one| one.destination.clone()).collect();
        let book = Book::new(self.attempts_max.max(1), self.hook.clone());
        let held = Held::new(self.hands.as_ref());
        let (began, first) = (Instant::now(), self.now());
        let mut barren = 0;
        loop {
            let before = book.len();
            for served in &self.served {
                self.drain(served, &book, began).await;
            }
            if book.is_full() {
                fail(format_args!(
                    "{} attempts, and there is no end: raise attempts_max, or look whether a \
                     handler enqueues its own command anew\n{}",
                    self.attempts_max,
                    book.take()
                ));
            }
            barren = if book.len() > before { 0 } else { barren + 1 };
            if barren > BARREN_MAX || !self.is_more_due(&names, first, &held).await {
                break;
            }
        }
        let served: Vec<_> = names.iter().map(Destination::as_str).collect();
        let mut done = book.take();
        done.advanced = self.now().since(first);
        done.left = must(delivered::left(&self.store, &served).await, "reading what is left");
        done
    }

    fn now(&self) -> Micros {
        must(self.store.now(), "reading the store's clock")
    }

    /// Runs a relay of this destination until nothing is due there.
    async fn drain(&self, served: &Served, book: &Book, began: Instant) {
        // Each pass another jitter, each run the same.
        let seed = self.seed.wrapping_add(book.len() as u64);
        let mut run = std::pin::pin!(pass(self.store.clone(), served, book, seed));
        loop {
            let left = self.within.saturating_sub(began.elapsed());
            match tokio::time::timeout(left, &mut run).await {
                Ok(ended) => return must(ended, "the relay"),
                // Tokio's time may be paused, and jump.
                Err(_) if began.elapsed() < self.within => {}
                Err(_) => fail(format_args!(
                    "not done within {:?}; under way is {}: look why its handler does not return, \
                     or raise `within`",
                    self.within,
                    book.current()
                )),
            }
        }
    }

    /// Whether anything is due, after time was let pass where it may be.
    async fn is_more_due(&self, names: &[Destination], first: Micros, held: &Held<'_>) -> bool {
        let next_due = must(self.store.next_due(names).await, "reading what is due");
        let Some(due) = next_due else { return false };
        let wait = due.since(self.now());
        if wait == Span::ZERO {
            return true;
        }
        if let Some(hands) = self.hands.as_ref().filter(|_| due <= first.plus(self.limit)) {
            (hands.advance)(wait);
            if self.now() < due {
                fail(
                    "time was advanced, and the store does not know: open it with the clock that \
                     `advancing_time` is given, such as TempStore::with_clock",
                );
            }
            return true;
        }
        // What SQL of a handler has dated since the clock is held, or in milliseconds.
        held.set(false);
        if wait <= SOON {
            tokio::time::sleep(wait.to_std()).await;
        }
        let is_new = delivered::is_new_due(&self.store, names, self.now()).await;
        held.set(true);
        must(is_new, "reading what is due")
    }
}

impl<S: Store> IntoFuture for DeliverAll<S> {
    type Output = Delivered;
    type IntoFuture = BoxFuture<'static, Delivered>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<S> std::fmt::Debug for DeliverAll<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeliverAll")
            .field("served", &self.served)
            .field("within", &self.within)
            .field("attempts_max", &self.attempts_max)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}
