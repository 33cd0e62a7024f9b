//! Random histories, told alike by the SQLite store and by the store in memory.

use std::sync::Arc;

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::laws::{law, of_command, of_lane, of_totals};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Answer, Asking, Command, CommandId, Completion, Contract, Destination, Event, Idempotent,
    Judge, Kind, Micros, OrderingKey, Outcome, ReceiptOutcome, ResultBody, Seed, Span, Stream,
    Terms, Token,
};
use counterfoil_core::port::read::{Facts, FactsFrom, Filter, Story};
use counterfoil_core::port::store::{Append, ClaimFrom, Claimed, Ended, Exchange, Renew, Settle};
use counterfoil_core::port::{Announce, Clock as _, Store};
use counterfoil_sqlite::{Options, SqliteStore, init};
use counterfoil_testkit::{ManualClock, MemoryStore};

pub(crate) const DESTINATIONS: [&str; 3] = ["shop", "bank", "desk"];
const STEPS: usize = 150;
const HISTORIES: u64 = 12;

/// A stream of numbers from a seed.
pub(crate) struct Dice(Seed);

impl Dice {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = Seed(self.0.0.wrapping_add(1));
        self.0.mixed() % end
    }

    pub(crate) fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()].clone()
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
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

/// The two stores, one clock, and what is claimed at both.
pub(crate) struct Both {
    pub(crate) memory: MemoryStore,
    pub(crate) sqlite: SqliteStore,
    clock: ManualClock,
    held: Vec<Claimed>,
    pub(crate) dice: Dice,
}

impl Both {
    pub(crate) fn ids(&mut self) -> String {
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
        assert_eq!(self.sqlite.enqueue(commands).await, memory);
    }

    async fn append(&mut self) {
        let body = self.dice.below(2);
        let to = self.dice.pick(&DESTINATIONS);
        let cause = self.dice.one_in(3).then(|| format!("signal-{}", self.dice.below(3)));
        let mut commands = vec![Command::unnamed(to, "k", &body).unwrap(); body as usize + 1];
        commands.iter_mut().for_each(|command| command.ordering_key = self.key());
        let append = Append {
            stream: Stream::new(format!("s{}", self.dice.below(2))).unwrap(),
            expected_seq: i64::try_from(self.dice.below(4)).unwrap(),
            events: vec![Event { cause, ..Event::json("e", &body).unwrap() }],
            commands,
        };
        let memory = self.memory.append(append.clone()).await;
        assert_eq!(self.sqlite.append(append).await, memory);
    }

    fn ended(&mut self, claimed: &Claimed) -> Ended {
        let text = || "because".to_owned();
        let result = ResultBody::whole(self.dice.pick(&["", "1"]));
        if claimed.delivery.asks > 0 && !self.dice.one_in(4) {
            return Ended::Answer(self.dice.pick(&[
                Answer::Done { result, evidence: text() },
                Answer::Refused { reason: text() },
                Answer::NotThere { believed: true, reason: text() },
                Answer::Unclear { reason: text() },
            ]));
        }
        if self.dice.one_in(6) {
            return Ended::HandedBack;
        }
        let retry_after = self.dice.one_in(2).then_some(Span::from_secs(7));
        Ended::Outcome(self.dice.pick(&[
            Outcome::Completed { result, evidence: text() },
            Outcome::Accepted { evidence: text() },
            Outcome::Rejected { reason: text(), by: Judge::Receiver },
            Outcome::Rejected { reason: text(), by: Judge::Status },
            Outcome::NotSent { reason: text(), retry_after, misconfigured: false },
            Outcome::Unknown { reason: text(), retry_after },
            Outcome::Conflict { reason: text() },
        ]))
    }

    async fn exchange(&mut self) {
        let announce = self.announce();
        let mut exchange =
            Exchange { owner: "me".into(), seed: 5, announce, ..Exchange::default() };
        let held = self.held.clone();
        for claimed in held {
            let terms = terms(claimed.command.destination.as_str());
            let (n, token) = (claimed.delivery.n, claimed.delivery.token);
            match self.dice.below(5) {
                0 => exchange.renewals.push(Renew { n, token, terms }),
                1 | 2 => {
                    let (ended, seed) = (self.ended(&claimed), Seed(self.dice.below(99)));
                    let started_at = self.clock.machine();
                    exchange.settles.push(Settle {
                        claimed,
                        ended,
                        started_at,
                        burns: !self.dice.one_in(4),
                        seed,
                        terms,
                    });
                }
                _ => {}
            }
        }
        // Most are settled once; some again and again, as after `NotKnown`.
        let settled: Vec<_> = exchange.settles.iter().map(|s| s.claimed.delivery.n).collect();
        let forget = !self.dice.one_in(4);
        self.held.retain(|claimed| !(forget && settled.contains(&claimed.delivery.n)));
        for name in DESTINATIONS {
            let limit = usize::try_from(self.dice.below(4)).unwrap();
            let destination = Destination::new(name).unwrap();
            exchange.claim_from.push(ClaimFrom { destination, limit, terms: terms(name) });
        }
        exchange.claim_limit = usize::try_from(self.dice.below(6)).unwrap();
        let memory = self.memory.exchange(exchange.clone()).await.unwrap();
        let sqlite = self.sqlite.exchange(exchange).await.unwrap();
        assert_eq!(sqlite, memory);
        self.held.extend(memory.claimed);
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
        assert_eq!(self.sqlite.report(&id, report).await, memory, "{id}");
    }

    async fn compare(&mut self) {
        let (memory, sqlite) = (&self.memory, &self.sqlite);
        assert_eq!(sqlite.status().await, memory.status().await);
        assert_eq!(sqlite.totals().await, memory.totals().await);
        let served = DESTINATIONS.map(|name| Destination::new(name).unwrap());
        assert_eq!(sqlite.remaining(&served[1..]).await, memory.remaining(&served[1..]).await);
        assert_eq!(sqlite.next_due(&served[..2]).await, memory.next_due(&served[..2]).await);
        assert_eq!(sqlite.lane_facts(None, 99).await, memory.lane_facts(None, 99).await);
        assert_eq!(sqlite.event_facts(None, 99).await, memory.event_facts(None, 99).await);
        let facts = FactsFrom { after: 1, open_only: false };
        let told = bare(sqlite.facts(facts, 7).await.unwrap());
        assert_eq!(told, bare(memory.facts(facts, 7).await.unwrap()));
        for command in sqlite.facts(FactsFrom::default(), 999).await.unwrap().commands {
            let mut broken = of_command(&command);
            // Reports may well say two things here.
            broken.retain(|violation| violation.code != law::CONTRADICTED.code);
            assert_eq!(broken, [], "{command:#?}");
        }
        for totals in sqlite.totals().await.unwrap() {
            assert_eq!(of_totals(&totals), []);
        }
        for lane in sqlite.lane_facts(None, 99).await.unwrap() {
            assert_eq!(of_lane(&lane), [], "{lane:?}");
        }
        let open = FactsFrom { after: 2, open_only: true };
        let told = bare(sqlite.facts(open, 3).await.unwrap());
        assert_eq!(told, bare(memory.facts(open, 3).await.unwrap()));
        let state = self.dice.pick(&[
            None,
            Some("parked".to_owned()),
            Some("pending".into()),
            Some("completed".into()),
        ]);
        let filter = Filter { state, limit: 5, ..Filter::default() };
        assert_eq!(sqlite.list(filter.clone()).await, memory.list(filter).await);
        let id = self.ids();
        let story = |told: Result<Option<Story>, _>| {
            let mut story = told.unwrap();
            let receipts = story.iter_mut().flat_map(|story| &mut story.receipts);
            receipts.for_each(|receipt| receipt.digest = None);
            story
        };
        let told = story(self.sqlite.show(&id).await);
        assert_eq!(told, story(self.memory.show(&id).await), "{id}");
        let ids = [id];
        assert_eq!(self.sqlite.known(&ids).await, self.memory.known(&ids).await);
    }

    async fn sweep(&mut self) {
        let limit = usize::try_from(self.dice.below(4)).unwrap();
        let announce = self.announce();
        let memory = self.memory.sweep(limit, announce.clone()).await;
        assert_eq!(self.sqlite.sweep(limit, announce).await, memory);
    }

    async fn restore(&mut self) {
        // No relay runs meanwhile: what was in flight is forgotten.
        self.held.clear();
        let long = i64::try_from(self.dice.below(100)).unwrap();
        let at = self.clock.machine().plus(Span::from_secs(-long));
        let memory = self.memory.restored(at, "ada").await;
        assert_eq!(self.sqlite.restored(at, "ada").await, memory);
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
                self.clock.advance(Span::from_millis(long));
            }
            6 if self.dice.one_in(3) => self.clock.step_machine(-86_400_000_000),
            7 => self.compare().await,
            _ => self.exchange().await,
        }
    }
}

/// Without the digests: the store in memory keeps those of settles only.
fn bare(mut facts: Facts) -> Facts {
    facts.now = Micros::default();
    for command in &mut facts.commands {
        if let Some(delivery) = &mut command.delivery {
            (delivery.digest, delivery.row_digest) = (None, None);
        }
        for receipt in &mut command.receipts {
            (receipt.digest, receipt.row_digest) = (None, None);
        }
    }
    facts
}

async fn history(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    init(&path, None).unwrap();
    let clock = ManualClock::default();
    let own = Arc::new(clock.clone());
    let sqlite = SqliteStore::open_with_clock(&path, Options::default(), own).unwrap();
    let memory = MemoryStore::new(clock.clone());
    for name in DESTINATIONS {
        let destination = Destination::new(name).unwrap();
        let contract = &terms(name).contract;
        let declared = memory.declare(&destination, contract, false).await;
        assert_eq!(sqlite.declare(&destination, contract, false).await, declared);
    }
    let dice = Dice(Seed(seed << 32));
    let mut both = Both { memory, sqlite, clock, held: Vec::new(), dice };
    for _ in 0..STEPS {
        both.step().await;
    }
    both.compare().await;
}

#[tokio::test]
async fn both_stores_tell_the_same_history() {
    let seed = std::env::var("COUNTERFOIL_SEED").ok().and_then(|seed| seed.parse().ok());
    let first: u64 = seed.unwrap_or_else(|| u64::from(std::process::id()) % 10_000);
    for seed in first..first + HISTORIES {
        println!("COUNTERFOIL_SEED={seed}");
        history(seed).await;
    }
}
