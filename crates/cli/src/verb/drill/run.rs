//! The drill itself: pays, delivers, kills, and waits until nothing is open.
//!
//! Guarantees: relays are killed once, and the receiver once, between the receiver's commit and
//! the relay's settle, the receiver once before its commit, a shop between its writes and its
//! commit; the whole is bounded in time. Does not: judge.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use rusqlite::Connection;

use super::book::Kills;
use super::cast::{Cast, When};
use super::moment::{self, Moment};
use super::order::{Orders, order_id, sqlite};
use super::plan::{Step, Victim, plan, shares};
use super::process::PATIENCE;
use super::site::Site;
use super::story::{Story, TOLD};
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
    /// What was told on the way.
    pub(super) moments: Vec<Moment>,
    /// Who was killed how often.
    pub(super) kills: Kills,
    /// What broke already.
    pub(super) broken: Vec<String>,
}

/// A running drill.
pub(super) struct Run<'s> {
    site: &'s Site,
    story: Story<'s>,
    reader: Connection,
    interrupted: Arc<AtomicBool>,
    orders: Orders,
    count: u32,
    relays: u32,
    cast: Cast<'s>,
    bar: ProgressBar,
    deadline: Instant,
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
            story: Story::new(site, store, runtime),
            reader: moment::look(&site.store)?,
            interrupted,
            orders,
            count: args.orders,
            relays: args.relays,
            cast: Cast::new(site, args.relays),
            bar,
            deadline: Instant::now() + TIME_MAX + TIME_PER_ORDER * args.orders,
            broken: Vec::new(),
        })
    }

    /// Plays the drill to its end, or to the end of its time.
    ///
    /// # Errors
    /// A process cannot be started or ends by itself; what the files say is not judged then.
    pub(super) fn play(mut self, seed: u64) -> Result<Played, Failure> {
        let told = self.count.min(TOLD);
        self.told_orders(told)?;
        let steps = plan(seed, self.relays);
        let shares = shares(told + 1, self.count - told, steps.len());
        for (step, (first, share)) in steps.iter().zip(&shares) {
            self.step(*step, *first, *share)?;
        }
        let (first, share) = shares.last().copied().unwrap_or((told + 1, 0));
        pay(&mut self.orders, first, share)?;
        self.wait_for_the_end()?;
        let unclean = self.cast.end();
        if unclean > 0 {
            self.broken.push(format!("{unclean} processes did not end cleanly"));
        }
        for n in 1..=told {
            self.story.tell(n, "the end")?;
        }
        self.bar.finish_and_clear();
        let (moments, kills) = (self.story.into_moments(), self.cast.kills);
        Ok(Played { moments, kills, broken: self.broken })
    }

    /// The first orders, each cut off where nobody hears the receiver's answer.
    fn told_orders(&mut self, told: u32) -> Result<(), Failure> {
        self.relays_die_unaware(1)?;
        self.cast.kill_receiver()?;
        self.cast.start_receiver(&["--hold-after-commit", "1"])?;
        self.cast.start_relays()?;
        if told >= 2 {
            self.receiver_dies_unheard(2)?;
        }
        if told >= 3 {
            self.receiver_dies_before(3)?;
        }
        // It lives still where one order is all.
        self.cast.kill_receiver()?;
        self.cast.start_receiver(&[])
    }

    fn relays_die_unaware(&mut self, n: u32) -> Result<(), Failure> {
        self.kill_before_commit(n, 1)?;
        self.cast.kill_payer(n, 1, When::AfterCommit)?;
        self.story.tell(n, "it is paid, and the shop's process is killed")?;
        self.cast.start_receiver(&["--hold-after-commit", "1"])?;
        self.cast.start_relays()?;
        self.wait_for_held()?;
        self.cast.kill_relays()?;
        self.story.tell(n, "the receiver has done it, and the relays are killed unaware")
    }

    fn receiver_dies_unheard(&mut self, n: u32) -> Result<(), Failure> {
        pay(&mut self.orders, n, 1)?;
        self.wait_for_held()?;
        self.cast.kill_receiver()?;
        self.wait_for_doubt(n)?;
        self.story.tell(n, "the receiver has done it, and is killed before it answers")
    }

    fn receiver_dies_before(&mut self, n: u32) -> Result<(), Failure> {
        self.cast.start_receiver(&["--die-before-commit", "1"])?;
        pay(&mut self.orders, n, 1)?;
        self.cast.receiver_dies()?;
        self.wait_for_doubt(n)?;
        self.story.tell(n, "the receiver dies before it has done it")
    }

    /// Waits until the receiver holds an answer back, as long as everybody else lives.
    fn wait_for_held(&mut self) -> Result<(), Failure> {
        let end = Instant::now() + PATIENCE;
        while !self.cast.receiver().is_some_and(|receiver| receiver.has_said("held")) {
            self.look()?;
            if Instant::now() > end {
                let text = "the drill's receiver got no command in time";
                return Err(Failure::could_not_run(text));
            }
        }
        Ok(())
    }

    fn wait_for_doubt(&mut self, n: u32) -> Result<(), Failure> {
        let end = Instant::now() + PATIENCE;
        while !self.story.is_in_doubt(n)? {
            self.look()?;
            if Instant::now() > end {
                let id = order_id(n);
                let text = format!("order {id}: its answer was cut off, and no relay noted it");
                self.broken.push(text);
                break;
            }
        }
        Ok(())
    }

    /// Pays the orders of a step, and kills somebody while they are delivered.
    fn step(&mut self, step: Step, first: u32, share: u32) -> Result<(), Failure> {
        if step.victim == Victim::Payer && share > 0 {
            self.kill_before_commit(first, share.min(PAYER_SHARE))?;
        }
        let goal = self.delivered()? + i64::from(share * step.after_percent / 100);
        // A shop of its own, so that orders are being paid while somebody dies.
        let mut shop = Orders::open(&self.site.store)?;
        let paying = std::thread::spawn(move || pay(&mut shop, first, share));
        let patience = Instant::now() + SHARE_PATIENCE;
        while self.delivered()? < goal && Instant::now() < patience {
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
        while self.delivered()? < i64::from(self.count) {
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

    /// How many commands are completed, or wait for a person.
    fn delivered(&self) -> Result<i64, Failure> {
        let completed = self.number(include_str!("sql/completed.sql"))?;
        self.bar.set_position(completed.unsigned_abs());
        Ok(completed + self.number(include_str!("sql/parked.sql"))?)
    }

    fn number(&self, query: &str) -> Result<i64, Failure> {
        let query = self.reader.prepare_cached(query);
        query.and_then(|mut query| query.query_row([], |row| row.get(0))).map_err(sqlite)
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
