//! The one task of a relay: waits for what happens and decides what is next.
//!
//! Guarantees: at most one exchange with the store is under way; nothing that ended is forgotten
//! while it is; every wait has an end. Does not: run attempts itself, so that none can hold it up.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::Seed;
use counterfoil_core::port::store::{Ended, Exchanged, StoreError};
use counterfoil_core::port::{BoxFuture, Observer, Store};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use crate::attempts::{Attempts, earlier};
use crate::backoff::Backoff;
use crate::claimer::Claimer;
use crate::control::Newest;
use crate::destination::Destinations;
use crate::exchange::Sent;
use crate::look::Looked;
use crate::options::Options;
use crate::pausing::Pausing;
use crate::sender::{Finished, Sender, Told};
use crate::settler::Settler;
use crate::stop::{Stop, Stopped};

/// The shortest poll: less would be a relay that does nothing else.
const POLL_MIN: Duration = Duration::from_millis(1);

/// Something happened.
enum Event {
    Stop,
    Ended(Option<Told>),
    Exchanged(Result<Exchanged, StoreError>),
    Looked(Result<Looked, StoreError>),
    Paused(Option<usize>),
    Changed,
    Time,
}

/// The relay's own task.
pub(crate) struct Driver<S, O> {
    /// The same instance for all calls: it remembers what it has told of commits.
    pub(crate) store: Arc<S>,
    pub(crate) source: Arc<str>,
    /// The same store, for control questions.
    pub(crate) newest: Arc<dyn Newest>,
    pub(crate) options: Options,
    pub(crate) observer: Arc<O>,
    pub(crate) destinations: Destinations,
    pub(crate) attempts: Attempts,
    pub(crate) claimer: Claimer,
    pub(crate) settler: Settler,
    pub(crate) sender: Arc<Sender>,
    pub(crate) backoff: Backoff,
    pub(crate) pausing: Pausing,
    pub(crate) stop: Option<Stop>,
    pub(crate) under_way: Option<(BoxFuture<'static, Result<Exchanged, StoreError>>, Sent)>,
    hear: mpsc::UnboundedReceiver<Told>,
    pub(crate) look: Option<BoxFuture<'static, Result<Looked, StoreError>>>,
    changed: BoxFuture<'static, ()>,
    changed_since: Instant,
    timer: Pin<Box<Sleep>>,
    seed: u64,
    /// `Idle` was announced and nothing was claimed since.
    pub(crate) is_idle: bool,
}

impl<S, O> Drop for Driver<S, O> {
    /// A driver that is dropped in its work leaves nothing behind that still sends.
    fn drop(&mut self) {
        self.attempts.withdraw();
        self.sender.abort_all();
    }
}

impl<S: Store, O: Observer> Driver<S, O> {
    pub(crate) fn new(
        store: S,
        destinations: Destinations,
        workers: usize,
        mut options: Options,
        observer: Arc<O>,
    ) -> Self {
        options.poll = options.poll.max(POLL_MIN);
        let (sender, hear) = Sender::new(workers, options.tracer.clone());
        let (store, now) = (Arc::new(store), Instant::now());
        Self {
            source: store.source(),
            newest: Arc::clone(&store) as Arc<dyn Newest>,
            destinations,
            observer,
            attempts: Attempts::new(workers),
            claimer: Claimer::new(options.poll),
            settler: Settler::new(workers / 2, store.rows_max()),
            sender,
            backoff: Backoff::failing(),
            pausing: Pausing::default(),
            stop: None,
            under_way: None,
            hear,
            look: None,
            changed: changed(&store, &options),
            changed_since: now,
            timer: Box::pin(tokio::time::sleep_until(now)),
            seed: options.seed,
            is_idle: false,
            options,
            store,
        }
    }

    /// The next seed.
    pub(crate) fn seed(&mut self) -> Seed {
        // The golden ratio's increment of SplitMix64: each seed differs, none repeats soon.
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Seed(self.seed)
    }

    /// Works until it is stopped, or until there is nothing left to do.
    pub(crate) async fn run(mut self, stop: impl Future<Output = ()> + Send) -> Stopped {
        let mut stop = pin!(stop);
        loop {
            let now = Instant::now();
            self.act(now);
            if let Some(stopped) = self.ended() {
                return stopped;
            }
            let event = self.event(stop.as_mut(), now).await;
            self.take(event);
        }
    }

    /// Does what can be done now.
    fn act(&mut self, now: Instant) {
        self.claimer.tick(now);
        self.abandon_late(now);
        let clock = Arc::clone(&self.options.clock);
        if self.is_store_free() && self.destinations.released(now, || clock.boot()) {
            self.claimer.probe();
        }
        let free_store = self.is_store_free() && self.backoff.until(now).is_none();
        if self.stop.is_some() || (free_store && self.is_exchange_due(now)) {
            self.end_waiting();
        }
        if free_store && self.under_way.is_none() {
            if self.is_exchange_due(now) {
                self.begin_exchange(now);
            }
            if self.under_way.is_none() && self.may_wait(now) {
                self.begin_waiting(now);
            }
        }
        if self.is_store_free() && self.look.is_none() && self.stop.is_none() {
            let may_look = self.attempts.free() > 0 && self.backoff.until(now).is_none();
            if may_look && self.claimer.must_look() {
                self.begin_look();
            }
        }
        self.destinations.post(now, || clock.boot());
    }

    /// No exchange is under way, but for a claim that only waits.
    pub(crate) fn is_store_free(&self) -> bool {
        self.under_way.as_ref().is_none_or(|(_, sent)| sent.is_waiting())
    }

    fn is_exchange_due(&self, now: Instant) -> bool {
        let running = self.attempts.running();
        let waiting = if self.stop.is_some() { 0 } else { running };
        let claims = self.stop.is_none() && self.has_long_free() && self.claimer.is_due(now);
        claims
            || self.settler.is_due(now, waiting)
            || self.attempts.next_renewal().is_some_and(|at| at <= now)
    }

    /// Workers that were free before: those whose attempt just ended wait to be settled with
    /// others.
    pub(crate) fn has_long_free(&self) -> bool {
        self.attempts.free() > self.settler.queued()
    }

    /// Nothing runs and nothing waits to be settled.
    pub(crate) fn is_still(&self) -> bool {
        self.attempts.running() == 0
            && self.settler.len() == 0
            && self.is_store_free()
            && self.pausing.is_empty()
    }

    async fn event(
        &mut self,
        stop: Pin<&mut (impl Future<Output = ()> + Send)>,
        now: Instant,
    ) -> Event {
        let wake_at = self.wake_at(now);
        if let Some(at) = wake_at.filter(|at| self.timer.deadline() != *at) {
            self.timer.as_mut().reset(at);
        }
        let is_stopping = self.stop.is_some();
        let listens = !is_stopping && self.look.is_none() && self.attempts.free() > 0;
        tokio::select! {
            biased;
            () = stop, if !is_stopping => Event::Stop,
            told = self.hear.recv() => Event::Ended(told),
            done = ready(self.under_way.as_mut().map(|(done, _)| done)) => Event::Exchanged(done),
            looked = ready(self.look.as_mut()) => Event::Looked(looked),
            place = self.pausing.ended() => Event::Paused(place),
            () = self.changed.as_mut(), if listens => Event::Changed,
            () = self.timer.as_mut(), if wake_at.is_some() => Event::Time,
        }
    }

    /// When the clock alone gives something to do.
    fn wake_at(&self, now: Instant) -> Option<Instant> {
        let stop_at = self.stop.as_ref().map(|stop| stop.wake_at(now));
        if !self.is_store_free() {
            return stop_at;
        }
        let released_at = self.destinations.released_at(now, || self.options.clock.boot());
        let released_at = released_at.filter(|_| self.attempts.free() > 0);
        let claim_at = earlier(self.claimer.wake_at(now), released_at);
        let claim_at = claim_at.filter(|_| self.stop.is_none());
        let work_at = [self.settler.due_at(), self.attempts.next_renewal(), claim_at];
        let work_at = work_at.into_iter().fold(None, earlier);
        let pause = self.backoff.until(now);
        let work_at = work_at.map(|at| pause.map_or(at, |until| at.max(until))).or(pause);
        earlier(stop_at, work_at)
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Stop => self.begin_stop(None),
            Event::Ended(told) => {
                self.hear(told);
                while let Ok(more) = self.hear.try_recv() {
                    self.hear(Some(more));
                }
            }
            Event::Exchanged(done) => {
                if let Some((_, sent)) = self.under_way.take() {
                    self.exchanged(sent, done);
                }
            }
            Event::Looked(looked) => {
                self.look = None;
                self.looked(looked);
            }
            Event::Paused(place) => self.paused(place),
            Event::Changed => {
                let now = Instant::now();
                let is_hint = now.duration_since(self.changed_since) < self.options.poll;
                if is_hint {
                    self.claimer.hint();
                } else {
                    self.claimer.look();
                }
                self.changed = changed(&self.store, &self.options);
                self.changed_since = now;
            }
            Event::Time => {}
        }
    }

    fn hear(&mut self, told: Option<Told>) {
        match told {
            Some(Told::One(finished)) => self.finish(finished),
            Some(Told::Many(batch)) => batch.into_iter().for_each(|one| self.finish(one)),
            None => {}
        }
    }

    fn finish(&mut self, finished: Finished) {
        let Finished { place, ended, at, trace } = finished;
        let Some(mut running) = self.attempts.end(place) else { return };
        running.trace = trace;
        if matches!(ended, Ended::HandedBack) {
            return self.back(running, at);
        }
        if let Some(serving) = self.destinations.change(running.destination) {
            serving.ended(true);
        }
        self.push(running, ended, "", at);
    }
}

fn changed<S: Store>(store: &Arc<S>, options: &Options) -> BoxFuture<'static, ()> {
    let (store, poll) = (Arc::clone(store), options.poll);
    if store.is_patient() {
        // A claim that waits hears of commits by itself.
        return Box::pin(tokio::time::sleep(poll));
    }
    Box::pin(async move { store.changed(poll).await })
}

/// Waits for a future that may not be there.
async fn ready<T>(future: Option<&mut BoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
