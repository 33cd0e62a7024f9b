//! Many relays on one backlog, with reports, verbs, sweeps and writers between them; then the
//! audit.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use counterfoil_core::domain::transition::{Report, Verdict};
use counterfoil_core::domain::{
    Command, CommandId, Contract, Destination, Idempotent, Judge, Micros, OnParked, OrderingKey,
    Outcome, ReceiptOutcome, ResultBody, Seed, Span, Terms,
};
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::store::{
    ClaimFrom, Claimed, Ended, Exchange, Settle, Settled, StoreError,
};
use counterfoil_core::port::{Act, Actor, Deed, Store as _};
use counterfoil_postgres::PostgresStore;

use crate::lanes::{Dice, LOST};
use crate::server::{Stranger, TestSchema};

const RELAYS: u64 = 16;
const LASTS: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(240);
const NAMES: [&str; 2] = ["block", "skip"];

/// What all take part in.
struct Scene {
    store: PostgresStore,
    terms: [Arc<Terms>; 2],
    stops: AtomicBool,
    /// Leases that somebody has, by number: the round, and until when.
    leases: Mutex<HashMap<i64, (u32, Micros)>>,
    claims: AtomicUsize,
    /// Rounds that a settle ended, by number and round.
    ended: Mutex<HashSet<(i64, u32)>>,
    recorded: AtomicUsize,
    held: AtomicUsize,
}

impl Scene {
    async fn new(schema: &TestSchema) -> Arc<Self> {
        let mut options = schema.options();
        options.connections = 24;
        let store = PostgresStore::open(schema.url(), options).await.unwrap();
        let terms = [OnParked::Block, OnParked::Skip].map(|on_parked| {
            let mut contract = Contract::new(Idempotent::Forever);
            contract.on_parked = on_parked;
            let mut terms = Terms::new(contract);
            terms.pace.initial = Span::from_millis(5);
            terms.pace.max = Span::from_millis(50);
            terms.pace.lease = Span::from_secs(3);
            Arc::new(terms)
        });
        for (name, terms) in NAMES.iter().zip(&terms) {
            let destination = Destination::new(*name).unwrap();
            store.declare(&destination, &terms.contract, false).await.unwrap();
        }
        Arc::new(Self {
            store,
            terms,
            stops: AtomicBool::default(),
            leases: Mutex::default(),
            claims: AtomicUsize::default(),
            ended: Mutex::default(),
            recorded: AtomicUsize::default(),
            held: AtomicUsize::default(),
        })
    }

    fn goes_on(&self) -> bool {
        !self.stops.load(Ordering::Acquire)
    }

    fn terms_of(&self, claimed: &Claimed) -> Arc<Terms> {
        let is_skip = claimed.command.destination.as_str() == NAMES[1];
        Arc::clone(&self.terms[usize::from(is_skip)])
    }

    /// One exchange; gives what is to be settled again, and what was claimed.
    async fn exchange(&self, settles: Vec<Settle>, limit: usize) -> (Vec<Settle>, Vec<Claimed>) {
        let claim_from = NAMES.iter().zip(&self.terms).map(|(name, terms)| ClaimFrom {
            destination: Destination::new(*name).unwrap(),
            limit,
            terms: Arc::clone(terms),
        });
        for settle in &settles {
            // Whoever claims it from here on may have it.
            self.leases.lock().unwrap().remove(&settle.claimed.delivery.n);
        }
        let exchange = Exchange {
            settles: settles.clone(),
            claim_from: claim_from.collect(),
            claim_limit: limit,
            owner: "one of many".into(),
            ..Exchange::default()
        };
        let done = match self.store.exchange(exchange).await {
            Ok(done) => done,
            // Nothing was written, and the same is tried again.
            Err(StoreError::Unavailable(_)) => return (settles, Vec::new()),
            Err(error) => panic!("{error}"),
        };
        assert!(done.differing.is_empty());
        for claimed in &done.claimed {
            let delivery = &claimed.delivery;
            let lease = (delivery.round, delivery.lease_until.unwrap());
            let earlier = self.leases.lock().unwrap().insert(delivery.n, lease);
            // A token is the time of its claim.
            let is_over = |(round, until): (u32, Micros)| {
                round != lease.0 || until.get() <= delivery.token.get()
            };
            assert!(earlier.is_none_or(is_over), "two have {}: {earlier:?}", delivery.n);
            self.claims.fetch_add(1, Ordering::Relaxed);
        }
        let mut again = Vec::new();
        for (settle, settled) in settles.into_iter().zip(done.settled) {
            let round = (settle.claimed.delivery.n, settle.claimed.delivery.round);
            match settled {
                Settled::Held => {
                    self.held.fetch_add(1, Ordering::Relaxed);
                    again.push(settle);
                }
                Settled::Ended(_) => {
                    assert!(self.ended.lock().unwrap().insert(round), "{round:?} ended twice");
                }
                _ => {}
            }
        }
        (again, done.claimed)
    }

    fn settle(&self, claimed: Claimed, dice: &mut Dice) -> Option<Settle> {
        let text = || "because".to_owned();
        let ended = Ended::Outcome(match dice.below(40) {
            // A relay that died: its lease runs out.
            0 => return None,
            1..4 => Outcome::Conflict { reason: text() },
            4..7 => Outcome::Unknown { reason: text(), retry_after: None },
            7..10 => Outcome::NotSent { reason: text(), retry_after: None, misconfigured: false },
            10..12 => Outcome::Rejected { reason: text(), by: Judge::Receiver },
            12..14 => {
                return Some(Settle { ended: Ended::HandedBack, ..self.done(claimed) });
            }
            _ => return Some(self.done(claimed)),
        });
        Some(Settle { ended, ..self.done(claimed) })
    }

    fn done(&self, claimed: Claimed) -> Settle {
        let result = ResultBody::whole("");
        Settle {
            started_at: Micros::new(claimed.delivery.token.get()),
            terms: self.terms_of(&claimed),
            claimed,
            ended: Ended::Outcome(Outcome::Completed { result, evidence: "ok".into() }),
            burns: true,
            seed: Seed(3),
        }
    }

    fn command(&self, id: &str, dice: &mut Dice) -> Command {
        let name = NAMES[usize::from(dice.below(2) == 0)];
        let command = Command::bytes(id, name, "k", "body").unwrap();
        self.recorded.fetch_add(1, Ordering::Relaxed);
        if dice.below(3) == 0 {
            return command;
        }
        command.ordering_key(OrderingKey::new(format!("key {}", dice.below(9))).unwrap())
    }
}

async fn relay(scene: Arc<Scene>, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut settles = Vec::new();
    while scene.goes_on() || !settles.is_empty() {
        let limit = if scene.goes_on() { 6 } else { 0 };
        let (again, claimed) = scene.exchange(std::mem::take(&mut settles), limit).await;
        settles = again;
        settles.extend(claimed.into_iter().filter_map(|claimed| scene.settle(claimed, &mut dice)));
        dice.rest(8).await;
    }
}

async fn write(scene: Arc<Scene>, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut at = 0;
    while scene.goes_on() {
        let few = 1 + dice.below(4);
        let commands = (0..few).map(|one| scene.command(&format!("{seed} {at} {one}"), &mut dice));
        let written = scene.store.enqueue(commands.collect()).await.unwrap();
        assert!(written.iter().all(Result::is_ok), "{written:?}");
        at += 1;
        dice.rest(12).await;
    }
}

async fn write_sql(scene: Arc<Scene>, writer: Stranger, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut at = 0;
    while scene.goes_on() {
        let (name, key) = (NAMES[usize::from(dice.below(2) == 0)], dice.below(9));
        scene.recorded.fetch_add(1, Ordering::Relaxed);
        let enqueue = format!(
            "BEGIN; SELECT cf.enqueue('sql {seed} {at}', '{name}', 'k', '', \
             ordering_key => 'key {key}')"
        );
        writer.run(&enqueue).await.unwrap();
        dice.rest(10).await;
        writer.run("COMMIT").await.unwrap();
        at += 1;
        dice.rest(10).await;
    }
}

/// Some id, of an open command or of one that ended.
async fn any(stranger: &Stranger, table: &str) -> Option<String> {
    let sql = format!(
        "SELECT command_id FROM cf.outbox JOIN cf.{table} USING (n) ORDER BY random() LIMIT 1"
    );
    stranger.text(&sql).await
}

async fn report(scene: Arc<Scene>, worker: Stranger, seed: u64) {
    let mut dice = Dice::new(seed);
    while scene.goes_on() {
        dice.rest(30).await;
        let table = if dice.below(5) == 0 { "receipt" } else { "delivery" };
        let Some(id) = any(&worker, table).await else { continue };
        if dice.below(2) == 0 {
            let verb = if dice.below(4) == 0 { "reject" } else { "complete" };
            worker.run(&format!("BEGIN; SELECT cf.{verb}('{id}')")).await.unwrap();
            dice.rest(10).await;
            worker.run("COMMIT").await.unwrap();
            continue;
        }
        let report = Report {
            outcome: ReceiptOutcome::Completed,
            result: None,
            evidence: Some("told".into()),
            source: "http".into(),
            token: None,
            equals_earlier: false,
        };
        match scene.store.report(&CommandId::new(id).unwrap(), report).await {
            Ok(_) | Err(StoreError::Unavailable(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn act(scene: Arc<Scene>, stranger: Stranger, seed: u64) {
    let mut dice = Dice::new(seed);
    while scene.goes_on() {
        dice.rest(25).await;
        let filter = Filter { state: Some("parked".into()), limit: 20, ..Filter::default() };
        let mut ids: Vec<String> =
            scene.store.list(filter).await.unwrap().into_iter().map(|one| one.command_id).collect();
        ids.extend(any(&stranger, "delivery").await);
        ids.extend(any(&stranger, "receipt").await);
        let deeds = ids.into_iter().map(|command_id| {
            let act = match dice.below(6) {
                0 => Act::Cancel,
                1 => Act::Resolve(Verdict::Rejected),
                2 => Act::Redeliver { may_act_twice: true },
                3 => Act::Resolve(Verdict::NotDone),
                _ => Act::Retry { may_act_twice: true },
            };
            Deed { command_id, act, by_filter: false }
        });
        let actor = Actor { name: "ann".into(), reason: "looked".into() };
        match scene.store.act(deeds.collect(), actor).await {
            Ok(_) | Err(StoreError::Unavailable(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn sweep(scene: Arc<Scene>, seed: u64) {
    let mut dice = Dice::new(seed);
    while scene.goes_on() {
        scene.store.sweep(4, None).await.unwrap();
        dice.rest(40).await;
    }
}

/// Ends all that is left.
async fn finish(scene: &Scene, stranger: &Stranger) {
    let began = Instant::now();
    let mut settles = Vec::new();
    loop {
        let (again, claimed) = scene.exchange(std::mem::take(&mut settles), 64).await;
        settles = again;
        let is_quiet = claimed.is_empty() && settles.is_empty();
        settles.extend(claimed.into_iter().map(|claimed| scene.done(claimed)));
        if !is_quiet {
            continue;
        }
        if stranger.number("SELECT count(*) FROM cf.delivery").await == 0 {
            return;
        }
        let left = stranger.text("SELECT json_agg(d) FROM (SELECT * FROM cf.delivery LIMIT 9) d");
        assert!(began.elapsed() < PATIENCE, "left: {:?}", left.await);
        scene.store.sweep(256, None).await.unwrap();
        let filter = Filter { state: Some("parked".into()), limit: 500, ..Filter::default() };
        let parked = scene.store.list(filter).await.unwrap().into_iter();
        let retry = Act::Retry { may_act_twice: true };
        let deeds = parked.map(|one| Deed {
            command_id: one.command_id,
            act: retry.clone(),
            by_filter: false,
        });
        let actor = Actor { name: "ann".into(), reason: "at the end".into() };
        scene.store.act(deeds.collect(), actor).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_relays_end_each_command_once() {
    let schema = TestSchema::new().await;
    let (scene, stranger) = (Scene::new(&schema).await, schema.stranger().await);
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = u64::from(seed.subsec_nanos());
    println!("seed {seed}");
    let mut tasks = Vec::new();
    for one in 0..RELAYS {
        tasks.push(tokio::spawn(relay(Arc::clone(&scene), seed + one)));
    }
    for one in 20..22 {
        let stranger = schema.stranger().await;
        tasks.push(tokio::spawn(write(Arc::clone(&scene), seed + one)));
        tasks.push(tokio::spawn(write_sql(Arc::clone(&scene), stranger, seed + one + 10)));
        let stranger = schema.stranger().await;
        tasks.push(tokio::spawn(report(Arc::clone(&scene), stranger, seed + one + 20)));
        let stranger = schema.stranger().await;
        tasks.push(tokio::spawn(act(Arc::clone(&scene), stranger, seed + one + 30)));
        tasks.push(tokio::spawn(sweep(Arc::clone(&scene), seed + one + 40)));
    }
    tokio::time::sleep(LASTS).await;
    scene.stops.store(true, Ordering::Release);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(stranger.number(LOST).await, 0, "a lane stands still, and no note speaks of it");
    finish(&scene, &stranger).await;
    let recorded = i64::try_from(scene.recorded.load(Ordering::Relaxed)).unwrap();
    assert_eq!(stranger.number("SELECT count(*) FROM cf.outbox").await, recorded);
    assert_eq!(stranger.number("SELECT count(DISTINCT n) FROM cf.receipt").await, recorded);
    let report = counterfoil_core::audit::audit(&scene.store, Default::default()).await.unwrap();
    // Two words of a receiver about one round are what they are, and people's to look into.
    let said_two_things = |code: &str| code == "CF0822";
    let broken: Vec<_> =
        report.violations.iter().filter(|one| !said_two_things(one.code)).collect();
    assert!(broken.is_empty() && report.found < 1_000, "{broken:?}");
    println!(
        "{recorded} commands, {} claims, {} ended by settles, {} held",
        scene.claims.load(Ordering::Relaxed),
        scene.ended.lock().unwrap().len(),
        scene.held.load(Ordering::Relaxed)
    );
}
