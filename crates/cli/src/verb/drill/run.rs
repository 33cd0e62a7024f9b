//! The drill itself: pays, delivers, kills, and waits until nothing is open.
//!
//! Guarantees: everybody of the plan is killed, while orders are paid and delivered; the whole is
//! bounded in time. Does not: judge.

mod told;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::book::Kills;
use super::cast::Cast;
use super::database::{Database, Query, query};
use super::moment::Moment;
use super::order::Orders;
use super::plan::{Step, Victim, plan, shares};
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
    reader: Database,
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
        let (runtime, interrupted) = hear_signals()?;
        let store = runtime.block_on(site.create())?;
        let mut orders = Orders::open(&site.store)?;
        orders.create(args.orders).map_err(|failure| {
            failure.help(
                "a drill needs a store without a table `orders`: give --store a new file, \
                          or another database",
            )
        })?;
        let bar = ProgressBar::new(u64::from(args.orders));
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} completed") {
            bar.set_style(style);
        }
        Ok(Self {
            site,
            story: Story::new(site, store, runtime),
            reader: Database::look(&site.store)?,
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
        // The last one is paid by itself, if there is one.
        let last = (self.count > told).then_some(self.count);
        let steps = plan(seed, self.relays);
        let between = self.count - told - last.map_or(0, |_| 1);
        let shares = shares(told + 1, between, steps.len());
        for (step, (first, share)) in steps.iter().zip(&shares) {
            self.step(*step, *first, *share)?;
        }
        let (first, share) = shares.last().copied().unwrap_or((told + 1, 0));
        pay(&mut self.orders, first, share)?;
        if let Some(last) = last {
            self.last_order(last)?;
        }
        self.wait_for_the_end()?;
        let unclean = self.cast.end();
        if unclean > 0 {
            self.broken.push(format!("{unclean} processes did not end cleanly"));
        }
        self.story.end()?;
        self.bar.finish_and_clear();
        let (moments, kills) = (self.story.into_moments(), self.cast.kills);
        Ok(Played { moments, kills, broken: self.broken })
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
    fn delivered(&mut self) -> Result<i64, Failure> {
        let completed = self.reader.number(query!("completed"))?;
        self.bar.set_position(completed.unsigned_abs());
        Ok(completed + self.reader.number(query!("parked"))?)
    }

    fn number(&mut self, query: Query) -> Result<i64, Failure> {
        self.reader.number(query)
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
