//! The drill itself: pays, delivers, kills, and waits until nothing is open.
//!
//! Guarantees: one kill always falls between the receiver's commit and the relay's settle, one
//! between the shop's writes and its commit; the whole is bounded in time. Does not: judge.

use std::time::{Duration, Instant};

use counterfoil_core::port::Store;
use counterfoil_sqlite::SqliteStore;
use indicatif::{ProgressBar, ProgressStyle};
use rusqlite::Connection;

use super::book::Kills;
use super::moment::{self, Moment, receiver_has, sender_says};
use super::order::{Orders, command_id, order_id, sqlite};
use super::plan::{Step, Victim, plan, shares};
use super::process::Process;
use super::site::Site;
use crate::args::Drill;
use crate::exit::Failure;

/// The longest time for a drill of few orders.
const TIME_MAX: Duration = Duration::from_secs(300);
/// More for each order.
const TIME_PER_ORDER: Duration = Duration::from_millis(20);
/// How long one process may take to do one thing.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a kill waits for its share of deliveries.
const SHARE_PATIENCE: Duration = Duration::from_millis(1500);
/// How often the books are looked at.
const LOOK: Duration = Duration::from_millis(1);

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
    orders: Orders,
    count: u32,
    relays: Vec<Option<Process>>,
    receiver: Option<Process>,
    bar: ProgressBar,
    deadline: Instant,
    played: Played,
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
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let bar = ProgressBar::new(u64::from(args.orders));
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        Ok(Self {
            site,
            store,
            reader: moment::look(&site.store)?,
            runtime: runtime.map_err(Failure::could_not_run)?,
            orders,
            count: args.orders,
            relays: (0..args.relays).map(|_| None).collect(),
            receiver: None,
            bar,
            deadline: Instant::now() + TIME_MAX + TIME_PER_ORDER * args.orders,
            played: Played { moments: Vec::new(), kills: Kills::default(), broken: Vec::new() },
        })
    }

    /// Plays the drill to its end, or to the end of its time.
    ///
    /// # Errors
    /// A process cannot be started or ends by itself; what the files say is not judged then.
    pub(super) fn play(mut self, seed: u64) -> Result<Played, Failure> {
        self.first_order()?;
        let steps = plan(seed, self.relay_count());
        let shares = shares(2, self.count - 1, steps.len());
        for (step, (first, share)) in steps.iter().zip(&shares) {
            self.step(*step, *first, *share)?;
        }
        let (first, share) = shares.last().copied().unwrap_or((2, 0));
        self.pay(first, share)?;
        self.wait_for_the_end()?;
        self.end()?;
        let end = self.moment("the end")?;
        self.played.moments.push(end);
        self.bar.finish_and_clear();
        Ok(self.played)
    }

    /// The first order, whose three moments are told.
    fn first_order(&mut self) -> Result<(), Failure> {
        self.kill_payer(1, 1)?;
        let one = self.payer(1, 1, "after-commit")?;
        one.hear("paid", PATIENCE)?;
        one.kill()?;
        self.played.kills.payers += 1;
        let told = self.moment("the order is paid, and the shop's process is killed")?;
        self.played.moments.push(told);
        self.start_receiver(&["--hold-after-commit", "1"])?;
        for relay in 0..self.relays.len() {
            self.start_relay(relay)?;
        }
        if let Some(receiver) = &self.receiver {
            receiver.hear("held", PATIENCE)?;
        }
        for relay in 0..self.relays.len() {
            self.kill_relay(relay)?;
        }
        let told = self.moment("the receiver has done it, and the relays are killed unaware")?;
        self.played.moments.push(told);
        self.kill_receiver()?;
        self.start_receiver(&[])?;
        for relay in 0..self.relays.len() {
            self.start_relay(relay)?;
        }
        Ok(())
    }

    /// Pays the orders of a step, and kills somebody while they are delivered.
    fn step(&mut self, step: Step, first: u32, share: u32) -> Result<(), Failure> {
        if step.victim == Victim::Payer && share > 0 {
            self.kill_payer(first, share.min(3))?;
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
                self.kill_relay(relay)?;
                std::thread::sleep(missed);
                self.start_relay(relay)?;
            }
            Victim::Receiver => {
                self.kill_receiver()?;
                std::thread::sleep(missed);
                self.start_receiver(&[])?;
            }
            Victim::Payer => {}
        }
        match paying.join() {
            Ok(paid) => paid,
            Err(_) => Err(Failure::could_not_run("the drill's paying thread failed")),
        }
    }

    fn pay(&mut self, first: u32, share: u32) -> Result<(), Failure> {
        pay(&mut self.orders, first, share)
    }

    /// A paying process dies between its last order's writes and their commit: nothing of either.
    fn kill_payer(&mut self, first: u32, share: u32) -> Result<(), Failure> {
        let payer = self.payer(first, share, "before-commit")?;
        payer.hear("written", PATIENCE)?;
        payer.kill()?;
        self.played.kills.payers += 1;
        let last = first + share - 1;
        let (paid, commands) = self.orders.look(last)?;
        if paid || commands > 0 {
            let id = order_id(last);
            let text =
                format!("order {id}: killed before commit, yet paid: {paid}, {commands} commands");
            self.played.broken.push(text);
        }
        Ok(())
    }

    fn payer(&self, first: u32, share: u32, hold: &str) -> Result<Process, Failure> {
        let store = format!("sqlite:{}", self.site.store.display());
        let (first, share) = (first.to_string(), share.to_string());
        let args = ["drill", "--part", "pay", "--store", &store, "--first", &first];
        let args = [&args[..], &["--orders", &share, "--hold", hold]].concat();
        Process::start(self.site, "payer", &args)
    }

    fn start_relay(&mut self, relay: usize) -> Result<(), Failure> {
        let config = self.site.config.display().to_string();
        let name = format!("relay-{}", relay + 1);
        let args = ["relay", "--end-with-stdin", "--config", &config];
        self.relays[relay] = Some(Process::start(self.site, &name, &args)?);
        Ok(())
    }

    fn kill_relay(&mut self, relay: usize) -> Result<(), Failure> {
        if let Some(process) = self.relays[relay].take() {
            process.kill()?;
            self.played.kills.relays += 1;
        }
        Ok(())
    }

    fn start_receiver(&mut self, more: &[&str]) -> Result<(), Failure> {
        let store = format!("sqlite:{}", self.site.shipping.display());
        let listen = format!("127.0.0.1:{}", self.site.port);
        let args = ["receiver", "--end-with-stdin", "--store", &store, "--listen", &listen];
        let args = [&args[..], more].concat();
        self.receiver = Some(Process::start(self.site, "receiver", &args)?);
        Ok(())
    }

    fn kill_receiver(&mut self) -> Result<(), Failure> {
        if let Some(process) = self.receiver.take() {
            process.kill()?;
            self.played.kills.receivers += 1;
        }
        Ok(())
    }

    /// Waits until nothing is open, or the time is over.
    fn wait_for_the_end(&mut self) -> Result<(), Failure> {
        while self.completed()? < i64::from(self.count) {
            self.look()?;
            if Instant::now() > self.deadline {
                let text = "the time of the drill is over: commands are still open";
                self.played.broken.push(text.to_owned());
                break;
            }
        }
        Ok(())
    }

    /// Ends every process cleanly.
    fn end(&mut self) -> Result<(), Failure> {
        let relays = self.relays.iter_mut().filter_map(Option::take);
        for process in relays.chain(self.receiver.take()).collect::<Vec<_>>() {
            if !process.end() {
                self.played.broken.push("a process did not end cleanly".to_owned());
            }
        }
        Ok(())
    }

    /// Waits a little, and looks whether all processes live.
    fn look(&mut self) -> Result<(), Failure> {
        std::thread::sleep(LOOK);
        let living = self.relays.iter_mut().chain([&mut self.receiver]);
        living.flatten().try_for_each(Process::check)
    }

    fn completed(&self) -> Result<i64, Failure> {
        let count = include_str!("sql/completed.sql");
        let count = self
            .reader
            .prepare_cached(count)
            .and_then(|mut query| query.query_row([], |row| row.get(0)));
        let count: i64 = count.map_err(sqlite)?;
        self.bar.set_position(count.unsigned_abs());
        Ok(count)
    }

    fn moment(&self, what: &'static str) -> Result<Moment, Failure> {
        let key = command_id(&order_id(1));
        let story = self.runtime.block_on(self.store.show(&key))?;
        let effects = receiver_has(self.site, &key)?;
        Ok(Moment { what, sender: sender_says(story.as_ref()), effects })
    }

    fn relay_count(&self) -> u32 {
        u32::try_from(self.relays.len()).unwrap_or(u32::MAX)
    }
}

fn pay(shop: &mut Orders, first: u32, share: u32) -> Result<(), Failure> {
    for n in first..first + share {
        shop.pay(n, || {})?;
    }
    Ok(())
}
