//! A relay at work on a store in memory, with its receiver, its clock and all it announced.
//!
//! Guarantees: one clock, tokio's, moves store, leases and relay alike. Does not: start anything
//! that a test did not ask for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use counterfoil_core::domain::{
    Asking, Command, Contract, Destination, Idempotent, Input, Micros, Next, Position, Span, Terms,
    Transition, transition,
};
use counterfoil_core::port::read::Story;
use counterfoil_core::port::{Notice, Observer, Store, Transport};
use counterfoil_relay::{Options, Relay, RelayEnd, RelayError, Served};
use counterfoil_testkit::{ManualClock, MemoryStore, Receiver, ScriptedTransport};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::watched_store::WatchedStore;

/// The destination of most tests.
pub(crate) const SHIPPING: &str = "shipping";

/// Everything that was announced.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Notice>>>);

impl Heard {
    pub(crate) fn all(&self) -> Vec<Notice> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, which: impl Fn(&Notice) -> bool) -> usize {
        self.all().iter().filter(|notice| which(notice)).count()
    }

    pub(crate) fn has(&self, which: impl Fn(&Notice) -> bool) -> bool {
        self.count(which) > 0
    }
}

impl Observer for Heard {
    fn notice(&self, notice: &Notice) {
        self.0.lock().unwrap().push(notice.clone());
    }
}

/// A store, a receiver behind a scripted transport, and a clock.
pub(crate) struct Scene {
    pub(crate) clock: ManualClock,
    pub(crate) store: MemoryStore,
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) transport: Arc<ScriptedTransport>,
    pub(crate) heard: Heard,
    pub(crate) terms: Terms,
}

impl Scene {
    /// A receiver that folds repeats.
    pub(crate) fn new() -> Self {
        Self::with(Receiver::with_keys(), Idempotent::Forever, |transport| transport)
    }

    /// A receiver that acts on every call.
    pub(crate) fn keyless() -> Self {
        Self::with(Receiver::without_keys(), Idempotent::No, |transport| transport)
    }

    pub(crate) fn with(
        receiver: Receiver,
        idempotent: Idempotent,
        shape: impl FnOnce(ScriptedTransport) -> ScriptedTransport,
    ) -> Self {
        let clock = ManualClock::running();
        let receiver = Arc::new(receiver);
        let transport = Arc::new(shape(ScriptedTransport::new(Arc::clone(&receiver))));
        let store = MemoryStore::new(clock.clone());
        let (heard, terms) = (Heard::default(), Terms::new(Contract::new(idempotent)));
        Self { clock, store, receiver, transport, heard, terms }
    }

    /// Records a command for shipping.
    pub(crate) async fn enqueue(&self, id: &str) {
        self.enqueue_to(SHIPPING, id).await;
    }

    pub(crate) async fn enqueue_to(&self, destination: &str, id: &str) {
        self.enqueue_command(paid(destination, id)).await;
    }

    pub(crate) async fn enqueue_command(&self, command: Command) {
        let recorded = self.store.enqueue(vec![command]).await.unwrap();
        assert!(recorded[0].is_ok(), "{recorded:?}");
    }

    pub(crate) fn options(&self) -> Options {
        Options::default().clock(Arc::new(self.clock.clone())).seed(7).owner("relay-1")
    }

    pub(crate) fn serving(&self, destination: &str, transport: Arc<dyn Transport>) -> Served {
        let destination = Destination::new(destination).unwrap();
        Served::new(destination, self.terms.clone(), transport)
    }

    pub(crate) fn served(&self) -> Vec<Served> {
        vec![self.serving(SHIPPING, self.transport.clone())]
    }

    /// Starts a relay on `store` that serves `served`.
    pub(crate) fn start_on(
        &self,
        store: &impl Store,
        served: Vec<Served>,
        options: Options,
    ) -> AtWork {
        let (stop, stopped) = oneshot::channel::<()>();
        let relay = Relay::new(store.clone(), served, options, self.heard.clone());
        let task =
            tokio::spawn(
                async move { relay.run(async move { stopped.await.unwrap_or(()) }).await },
            );
        AtWork { stop: Some(stop), task }
    }

    /// Starts a relay for shipping.
    pub(crate) fn start(&self, options: Options) -> AtWork {
        self.start_on(&self.store, self.served(), options)
    }

    /// The same store, under watch.
    pub(crate) fn watched(&self) -> WatchedStore {
        WatchedStore::new(&self.store)
    }

    /// Runs a relay for shipping until nothing is left to do.
    pub(crate) async fn run_until_idle(&self) -> RelayEnd {
        self.start(self.options().until_idle(true)).end().await.unwrap()
    }

    /// The store's time.
    pub(crate) fn clock_now(&self) -> Micros {
        self.store.now().unwrap()
    }

    /// The command's state, or the outcome that ended it.
    pub(crate) async fn state(&self, id: &str) -> String {
        self.story(id).await.listed.state
    }

    pub(crate) async fn story(&self, id: &str) -> Story {
        self.store.show(id).await.unwrap().unwrap_or_else(|| panic!("no command {id}"))
    }

    /// As `retry --may-act-twice` does for a person.
    pub(crate) fn retry_though_it_may_act_twice(&self, id: &str) {
        let now = self.clock_now();
        let input = Input::Retry { may_act_twice: true, expires_at: None };
        self.store.with_rows(|rows| {
            let n = rows.ids[id.as_bytes()];
            let entry = rows.deliveries.get_mut(&n).unwrap();
            let stands = Position::Open(entry.delivery.clone());
            match transition(&stands, input, &self.terms, now) {
                Transition::Applied { next: Next::Open(next), .. } => entry.delivery = next,
                other => panic!("{other:?}"),
            }
        });
    }

    /// What was settled about `id` so far: outcome or answer, and what it led to.
    pub(crate) fn settled(&self, id: &str) -> Vec<(&'static str, &'static str)> {
        let all = self.heard.all();
        let own = all.iter().filter_map(|notice| match notice {
            Notice::Settled { command, outcome, now, .. } if command.as_str() == id => {
                Some((*outcome, *now))
            }
            _ => None,
        });
        own.collect()
    }

    /// Waits until the command is in `state`, for three virtual hours at most.
    pub(crate) async fn reach(&self, id: &str, state: &str) {
        let began = tokio::time::Instant::now();
        while self.state(id).await != state {
            let now = self.state(id).await;
            let waited = began.elapsed();
            assert!(waited < Duration::from_secs(3 * 3600), "{id} is {now}, not {state}");
            // Close at first, a hundredth of the time later.
            tokio::time::sleep((waited / 100).max(Duration::from_millis(20))).await;
        }
    }
}

/// A relay at work.
pub(crate) struct AtWork {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<RelayEnd, RelayError>>,
}

impl AtWork {
    /// Asks it to stop.
    pub(crate) fn ask_to_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until it ends by itself.
    pub(crate) async fn end(self) -> Result<RelayEnd, RelayError> {
        let Self { stop, task } = self;
        let end = task.await.unwrap();
        drop(stop);
        end
    }

    /// Stops it and waits for the end.
    pub(crate) async fn stop(mut self) -> RelayEnd {
        self.ask_to_stop();
        self.end().await.unwrap()
    }

    /// As SIGKILL would: nothing more is done.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

/// A command that says that an order is paid.
pub(crate) fn paid(destination: &str, id: &str) -> Command {
    let body = serde_json::json!({ "order": id });
    Command::json(id, destination, "order.paid", &body).unwrap()
}

/// The receiver can be asked; "not there" counts a minute after the last lease.
pub(crate) fn askable(contract: &mut Contract) -> &mut Asking {
    contract.ask.insert(Asking::new(secs(60)))
}

/// Lets virtual time pass.
pub(crate) async fn pass(secs: f64) {
    tokio::time::sleep(Duration::from_secs_f64(secs)).await;
}

/// Whether a notice parks `id`.
pub(crate) fn parks(id: &str) -> impl Fn(&Notice) -> bool + '_ {
    move |notice| matches!(notice, Notice::Parked { command, .. } if command == id)
}

/// A span of seconds.
pub(crate) const fn secs(secs: i64) -> Span {
    Span::from_secs(secs)
}
