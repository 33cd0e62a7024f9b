//! The drill itself: pays, delivers, kills, and waits until nothing is open.
//!
//! Guarantees: one kill always falls between the receiver's commit and the relay's settle, one
//! between the shop's writes and its commit; the whole is bounded in time. Does not: judge.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use counterfoil_core::port::Store;
use counterfoil_sqlite::SqliteStore;
use indicatif::{ProgressBar, ProgressStyle};
use rusqlite::Connection;

use super::book::Kills;
use super::cast::{Cast, When};
use super::moment::{self, Moment, receiver_has, sender_says};
use super::order::{Orders, command_id, order_id, sqlite};
use super::plan::{Step, Victim, plan, shares};
use super::process::PATIENCE;
use super::site::Site;
use crate::args::Drill;
use crate::exit::Failure;
use crate::verb::stop;

/// The longest time for a drill of few orders.
const TIME_MAX: Duration = Duration::from_secs(300);
/// More for each order.
const TIME_PER_ORDER: Duration = Duration::from_millis(20);
/// How long a kill waits for its share of deliveries.
const SHARE_PATIENCE: Duration = Duration::from_millis(1500);
/// How often the books are looked at: often, so that a kill falls into a burst.
const LOOK: Duration = Duration::from_millis(1);
/// How many orders at most a process pays that is killed.
const PAYER_SHARE: u32 = 3;

/// What a drill leaves to be judged.
pub(super) struct Played {
    /// The three moments.
    pub(super) moments: Vec<Moment>,
    /// Who was killed how often.
    pub(super) kills: Kills,
    /// What broke already.
    pub(super) broken: Vec<String>,
}

/// A running drill.
pub(super) struct Run<'s> {
    site: &'s Site,
    store: SqliteStore,
    reader: Connection,
    runtime: tokio::runtime::Runtime,
    interrupted: Arc<AtomicBool>,
    orders: Orders,
    count: u32,
    relays: u32,
    cast: Cast<'s>,
    bar: ProgressBar,
    deadline: Instant,
    moments: Vec<Moment>,
    broken: Vec<String>,
}

impl<'s> Run<'s> {
    /// Creates the shop and its orders; nothing runs yet.
    ///
    /// # Errors
    /// The files cannot be made.
    pub(super) fn new(site: &'s Site, args: &Drill) -> Result<Self, Failure> {
        let store = site.create()?;
        let mut orders = Orders::open(&site.store)?;
        orders.create(args.orders).map_err(|failure| {
            failure.help("a drill needs a store without a table `orders`: give --store a new file")
        })?;
        let (runtime, interrupted) = hear_signals()?;
        let bar = ProgressBar::new(u64::from(args.orders));
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} completed") {
            bar.set_style(style);
        }
        Ok(Self {
            site,
            store,
            reader: moment::look(&site.store)?,
            runtime,
            interrupted,
            orders,
            count: args.orders,
            relays: args.relays,
            cast: Cast::new(site, args.relays),
            bar,
            deadline: Instant::now() + TIME_MAX + TIME_PER_ORDER * args.orders,
            moments: Vec::new(),
            broken: Vec::new(),
        })
    }

    /// Plays the drill to its end, or to the end of its time.
    ///
    /// # Errors
    /// A process cannot be started or ends by itself; what the files say is not judged then.
    pub(super) fn play(mut self, seed: u64) -> Result<Played, Failure> {
        self.first_order()?;
        let steps = plan(seed, self.relays);
        let shares = shares(2, self.count - 1, steps.len());
        for (step, (first, share)) in steps.iter().zip(&shares) {
            self.step(*step, *first, *share)?;
        }
        let (first, share) = shares.last().copied().unwrap_or((2, 0));
        pay(&mut self.orders, first, share)?;
        self.wait_for_the_end()?;
        let unclean = self.cast.end();
        if unclean > 0 {
            self.broken.push(format!("{unclean} processes did not end cleanly"));
        }
        self.tell("the end")?;
        self.bar.finish_and_clear();
        Ok(Played { moments: self.moments, kills: self.cast.kills, broken: self.broken })
    }

    /// The first order, whose three moments are told.
    fn first_order(&mut self) -> Result<(), Failure> {
        self.kill_before_commit(1, 1)?;
        self.cast.kill_payer(1, 1, When::AfterCommit)?;
        self.tell("the order is paid, and the shop's process is killed")?;
        self.cast.start_receiver(&["--hold-after-commit", "1"])?;
        self.cast.start_relays()?;
        if let Some(receiver) = self.cast.receiver() {
            receiver.hear("held", PATIENCE)?;
        }
        self.cast.kill_relays()?;
        self.tell("the receiver has done it, and the relays are killed unaware")?;
        self.cast.kill_receiver()?;
        self.cast.start_receiver(&[])?;
        self.cast.start_relays()
    }

    /// Pays the orders of a step, and kills somebody while they are delivered.
    fn step(&mut self, step: Step, first: u32, share: u32) -> Result<(), Failure> {
        if step.victim == Victim::Payer && share > 0 {
            self.kill_before_commit(first, share.min(PAYER_SHARE))?;
        }
        let goal = self.completed()? + i64::from(share * step.after_percent / 100);
        // A shop of its own, so that orders are being paid while somebody dies.
        let mut shop = Orders::open(&self.site.store)?;
        let paying = std::thread::spawn(move || pay(&mut shop, first, share));
        let patience = Instant::now() + SHARE_PATIENCE;
        while self.completed()? < goal && Instant::now() < patience {
            self.look()?;
        }
        let missed = Duration::from_millis(step.missed_ms);
        match step.victim {
            Victim::Relay(relay) => {
                self.cast.kill_relay(relay)?;
                std::thread::sleep(missed);
                self.cast.start_relay(relay)?;
            }
            Victim::Receiver => {
                self.cast.kill_receiver()?;
                std::thread::sleep(missed);
                self.cast.start_receiver(&[])?;
            }
            Victim::Payer => {}
        }
        match paying.join() {
            Ok(paid) => paid,
            Err(_) => Err(Failure::could_not_run("the drill's paying thread failed")),
        }
    }

    /// A paying process dies between its last order's writes and their commit: nothing of either.
    fn kill_before_commit(&mut self, first: u32, share: u32) -> Result<(), Failure> {
        self.cast.kill_payer(first, share, When::BeforeCommit)?;
        let last = first + share - 1;
        let (paid, commands) = self.orders.look(last)?;
        if paid || commands > 0 {
            let (id, paid) = (order_id(last), if paid { "paid" } else { "unpaid" });
            let text = format!("order {id}: killed before commit, yet {paid}, {commands} commands");
            self.broken.push(text);
        }
        Ok(())
    }

    /// Waits until nothing is open but what waits for a person, or the time is over.
    fn wait_for_the_end(&mut self) -> Result<(), Failure> {
        while self.completed()? + self.parked()? < i64::from(self.count) {
            self.look()?;
            if Instant::now() > self.deadline {
                let text = "the time of the drill is over: commands are still open";
                self.broken.push(text.to_owned());
                break;
            }
        }
        Ok(())
    }

    /// Waits a little, and looks whether all processes live.
    fn look(&mut self) -> Result<(), Failure> {
        std::thread::sleep(LOOK);
        if self.interrupted.load(Ordering::Relaxed) {
            let text = "the drill was interrupted; its processes are ended";
            return Err(Failure::could_not_run(text));
        }
        self.cast.check()
    }

    fn completed(&self) -> Result<i64, Failure> {
        let count = self.number(include_str!("sql/completed.sql"))?;
        self.bar.set_position(count.unsigned_abs());
        Ok(count)
    }

    fn parked(&self) -> Result<i64, Failure> {
        self.number(include_str!("sql/parked.sql"))
    }

    fn number(&self, query: &str) -> Result<i64, Failure> {
        let query = self.reader.prepare_cached(query);
        query.and_then(|mut query| query.query_row([], |row| row.get(0))).map_err(sqlite)
    }

    fn tell(&mut self, what: &'static str) -> Result<(), Failure> {
        let key = command_id(&order_id(1));
        let story = self.runtime.block_on(self.store.show(&key))?;
        let effects = receiver_has(self.site, &key)?;
        self.moments.push(Moment { what, sender: sender_says(story.as_ref()), effects });
        Ok(())
    }
}

/// One thread beside the drill's own, which hears signals.
fn hear_signals() -> Result<(tokio::runtime::Runtime, Arc<AtomicBool>), Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(Failure::could_not_run)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&interrupted);
    let asked = runtime.block_on(async { stop::listen(false) })?;
    runtime.spawn(async move {
        asked.await;
        heard.store(true, Ordering::Relaxed);
    });
    Ok((runtime, interrupted))
}

fn pay(shop: &mut Orders, first: u32, share: u32) -> Result<(), Failure> {
    for n in first..first + share {
        shop.pay(n, || {})?;
    }
    Ok(())
}
