//! Random histories, told alike by a store and by the store in memory.
//!
//! Guarantees: from a seed the same history; after each step that reads, all that both stores show
//! is compared, and the laws hold. Does not: shrink; the seed repeats it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a history tells its seed, and what is wrong by a panic, as tests do"
)]

mod acting;
mod comparing;
mod exchanging;
mod flowing;

use std::sync::Arc;

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Asking, Command, CommandId, Completion, Contract, Destination, Event, Idempotent, Kind,
    OrderingKey, ReceiptOutcome, Seed, Span, Stream, Terms, Token,
};
use counterfoil_core::port::store::{Append, Claimed};
use counterfoil_core::port::{Announce, Audited, Clock as _, Store};

use crate::exercise_store::{Hands, WorkflowHands};
use crate::{ManualClock, MemoryStore};

const DESTINATIONS: [&str; 3] = ["shop", "bank", "desk"];

/// A stream of numbers from a seed.
struct Dice(Seed);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = Seed(self.0.0.wrapping_add(1));
        self.0.mixed() % end
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()].clone()
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

fn terms(name: &str) -> Arc<Terms> {
    let mut contract = match name {
        "shop" => Contract::new(Idempotent::Window { key_ttl: Span::from_secs(600) }),
        "bank" => Contract::new(Idempotent::No),
        _ => Contract::new(Idempotent::Forever),
    };
    match name {
        "bank" => contract.ask = Some(Asking { max_asks: 2, ..Asking::new(Span::from_secs(5)) }),
        "desk" => contract.completion = Completion::Receipt,
        "shop" => contract.on_parked = OnParked::Skip,
        _ => {}
    }
    contract.give_up_after = Span::from_secs(300);
    contract.receipt_timeout = Span::from_secs(60);
    let mut terms = Terms::new(contract);
    terms.pace.max_attempts = 4;
    Arc::new(terms)
}

/// The two stores, their clocks, and what is claimed at both.
struct Both<H: Hands> {
    memory: MemoryStore,
    /// The clock of the store in memory; the hands move the other one.
    clock: ManualClock,
    hands: H,
    store: H::Store,
    held: Vec<Claimed>,
    settles_apart: bool,
    dice: Dice,
}

/// Which history to tell.
#[derive(Clone, Copy, Debug)]
pub struct History {
    /// Where it begins.
    pub seed: u64,
    /// How many steps it has.
    pub steps: usize,
    /// Settles go in an exchange before the one that claims: for a store that looks for what is due
    /// while it settles, and so finds what a settle frees in its next exchange.
    pub settles_apart: bool,
}

impl<H: Hands> Both<H> {
    fn ids(&mut self) -> String {
        let bare = format!("c{}", self.dice.below(12));
        let decided = format!("s{}:{}:0", self.dice.below(2), 1 + self.dice.below(3));
        self.dice.pick(&[bare.clone(), bare, decided])
    }

    /// The key of one of two lanes, or of none.
    fn key(&mut self) -> Option<OrderingKey> {
        self.dice.pick(&[None, Some("x"), Some("y")]).map(|key| OrderingKey::new(key).unwrap())
    }

    /// Where what is parked is announced, if it is.
    fn announce(&mut self) -> Option<Announce> {
        let to = self.dice.pick(&[None, Some("desk"), Some("bank")])?;
        let (destination, kind) = (Destination::new(to).unwrap(), Kind::new("alert").unwrap());
        Some(Announce { destination, kind })
    }

    fn command(&mut self) -> Command {
        let (id, to) = (format!("c{}", self.dice.below(12)), self.dice.pick(&DESTINATIONS));
        let body = serde_json::json!(self.dice.below(2));
        let mut command = Command::json(id, to, "k", &body).unwrap();
        command.ordering_key = self.key();
        let soon = Span::from_millis(i64::try_from(self.dice.below(20_000)).unwrap());
        let soon = self.clock.machine().plus(soon);
        match self.dice.below(6) {
            0 => command.not_before(soon),
            1 => command.core(&[serde_json::json!(1)]).unwrap(),
            2 | 3 => Command { expires_at: Some(soon), ..command },
            _ => command,
        }
    }

    async fn enqueue(&mut self) {
        let count = 1 + self.dice.below(3);
        let commands: Vec<_> = (0..count).map(|_| self.command()).collect();
        let memory = self.memory.enqueue(commands.clone()).await;
        assert_eq!(self.store.enqueue(commands).await, memory);
    }

    async fn append(&mut self) {
        let body = self.dice.below(2);
        let to = self.dice.pick(&DESTINATIONS);
        let cause = self.dice.one_in(3).then(|| format!("signal-{}", self.dice.below(3)));
        let mut commands = vec![Command::unnamed(to, "k", &body).unwrap(); body as usize + 1];
        commands.iter_mut().for_each(|command| command.ordering_key = self.key());
        let append = Append {
            stream: Stream::new(format!("o{}", self.dice.below(2))).unwrap(),
            expected_seq: i64::try_from(self.dice.below(4)).unwrap(),
            events: vec![Event { cause, ..Event::json("e", &body).unwrap() }],
            commands,
        };
        let memory = self.memory.append(append.clone()).await;
        assert_eq!(self.store.append(append).await, memory);
    }

    async fn report(&mut self) {
        let token = match self.dice.below(3) {
            0 => self.held.last().map(|claimed| claimed.delivery.token),
            1 => Some(Token::new(3)),
            _ => None,
        };
        let report = Report {
            outcome: self.dice.pick(&[ReceiptOutcome::Completed, ReceiptOutcome::Rejected]),
            result: self.dice.pick(&[None, Some(b"1".to_vec()), Some(vec![0, 255])]),
            evidence: Some("seen".into()),
            source: "report".into(),
            token,
            equals_earlier: false,
        };
        let id = CommandId::new(self.ids()).unwrap();
        let memory = self.memory.report(&id, report.clone()).await;
        assert_eq!(self.store.report(&id, report).await, memory, "{id}");
    }

    async fn sweep(&mut self) {
        let limit = usize::try_from(self.dice.below(4)).unwrap();
        let announce = self.announce();
        let memory = self.memory.sweep(limit, announce.clone()).await;
        assert_eq!(self.store.sweep(limit, announce).await, memory);
    }

    async fn restore(&mut self) {
        // No relay runs meanwhile: what was in flight is forgotten.
        self.held.clear();
        let long = i64::try_from(self.dice.below(100)).unwrap();
        let at = self.clock.machine().plus(Span::from_secs(-long));
        // Nobody restores within the microsecond of a claim; no law could tell which was first.
        self.advance(1);
        let memory = self.memory.restored(at, "ada").await;
        assert_eq!(self.store.restored(at, "ada").await, memory);
        self.advance(1);
    }

    fn advance(&self, millis: i64) {
        self.hands.advance(Span::from_millis(millis));
        self.clock.advance(Span::from_millis(millis));
    }

    async fn step(&mut self) {
        match self.dice.below(16) {
            13 | 14 => self.act().await,
            15 => self.pause_or_resume().await,
            12 if self.dice.one_in(12) => self.restore().await,
            12 => self.sweep().await,
            0 | 1 => self.enqueue().await,
            2 => self.append().await,
            3 => self.report().await,
            4 | 5 => {
                let long = self.dice.pick(&[1, 50, 1_000, 9_000, 40_000, 400_000]);
                self.advance(long);
            }
            6 if self.dice.one_in(3) => {
                self.hands.step_machine(-86_400_000_000);
                self.clock.step_machine(-86_400_000_000);
            }
            7 => self.compare().await,
            _ => self.exchange().await,
        }
    }
}

/// Tells one history, on a fresh store whose clock stands at
/// [`START`](crate::manual_clock::START).
///
/// # Panics
/// If the two stores tell it differently, or a law is broken.
pub async fn random_history<H: Hands>(hands: H, history: History) {
    let mut both = Both::begin(hands, history).await;
    for _ in 0..history.steps {
        both.step().await;
    }
    both.compare().await;
}

/// The same with workflows among it.
///
/// # Panics
/// If the two stores tell it differently, or a law is broken.
pub async fn random_workflows<H: WorkflowHands<Store: Audited>>(hands: H, history: History) {
    let mut both = Both::begin(hands, history).await;
    for _ in 0..history.steps {
        both.flow().await;
    }
    both.end_of_flows().await;
}

impl<H: Hands> Both<H> {
    /// Both stores with their destinations.
    async fn begin(hands: H, history: History) -> Self {
        let History { seed, settles_apart, .. } = history;
        println!("COUNTERFOIL_SEED={seed}");
        let clock = ManualClock::default();
        let memory = MemoryStore::new(clock.clone());
        let store = hands.store();
        for name in DESTINATIONS {
            let destination = Destination::new(name).unwrap();
            let contract = &terms(name).contract;
            let declared = memory.declare(&destination, contract, false).await;
            assert_eq!(store.declare(&destination, contract, false).await, declared);
        }
        let dice = Dice(Seed(seed << 32));
        Self { memory, clock, hands, store, held: Vec::new(), settles_apart, dice }
    }
}

/// The seed to begin with: `COUNTERFOIL_SEED`, or another one each time.
#[must_use]
pub fn first_seed() -> u64 {
    let seed = std::env::var("COUNTERFOIL_SEED").ok().and_then(|seed| seed.parse().ok());
    seed.unwrap_or_else(|| u64::from(std::process::id()) % 10_000)
}
