//! What one seed means: receivers, commands, relays, and how often what goes wrong.
//!
//! Guarantees: drawn before the run begins, so a plan can be read beside its trace; each kind of
//! fault is left out of many plans, so that others are seen by themselves. Does not: say when a
//! fault strikes; the run's dice do.

use std::sync::Arc;

use counterfoil_core::domain::{Destination, IdRefused};

use super::dice::Dice;
use super::flow::SimFlows;
use super::operator::Person;
use super::site;
use super::spell::Spell;

pub(super) use super::site::{Folds, Site};

/// How often something goes wrong, in a thousand.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    pub(super) request_lost: u64,
    pub(super) answer_lost: u64,
    pub(super) broken: u64,
    pub(super) twice: u64,
    pub(super) slow: u64,
    pub(super) gateway: u64,
    pub(super) refused: u64,
    pub(super) busy: u64,
    pub(super) conflict: u64,
    pub(super) gone: u64,
    pub(super) crash: u64,
    pub(super) pause: u64,
    pub(super) stop: u64,
    pub(super) store_down: u64,
    pub(super) not_known: u64,
    pub(super) store_slow: u64,
    pub(super) read_fails: u64,
    pub(super) receipt_lost: u64,
    pub(super) receipt_twice: u64,
    pub(super) contradiction: u64,
    pub(super) stale_report: u64,
    pub(super) hint_lost: u64,
}

impl Rates {
    fn draw(dice: &mut Dice) -> Self {
        let mut often = |most| if dice.chance(550) { dice.between(1, most) } else { 0 };
        Self {
            request_lost: often(150),
            answer_lost: often(250),
            broken: often(150),
            twice: often(150),
            slow: often(400),
            gateway: often(150),
            refused: often(150),
            busy: often(80),
            conflict: often(20),
            gone: often(40),
            crash: often(40),
            pause: often(40),
            stop: often(15),
            store_down: often(80),
            not_known: often(60),
            store_slow: often(60),
            read_fails: often(50),
            receipt_lost: often(250),
            receipt_twice: often(250),
            contradiction: often(100),
            stale_report: often(200),
            hint_lost: often(500),
        }
    }
}

/// A command of the plan.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) at_ms: u64,
    pub(super) site: usize,
    /// The receiver judges and refuses it.
    pub(super) is_refused: bool,
    /// It is recorded by a decision, not by itself.
    pub(super) is_decided: bool,
    /// Its receiver fails on it, always, and never acts.
    pub(super) is_poison: bool,
    /// Which lane of its destination it belongs to.
    pub(super) key: Option<usize>,
    /// It is recorded a second time.
    pub(super) is_repeated: bool,
    pub(super) not_before_ms: Option<u64>,
    pub(super) expires_ms: Option<u64>,
    pub(super) body: Vec<u8>,
}

/// A step of the machine's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockStep {
    pub(super) at_ms: u64,
    pub(super) micros: i64,
}

/// A whole run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) sites: Vec<Arc<Site>>,
    pub(super) orders: Vec<Order>,
    pub(super) relays: usize,
    /// Processes that decide workflows; they come after the relays.
    pub(super) runners: usize,
    /// How far the wall clock of each process is off, in microseconds.
    pub(super) skews: Vec<i64>,
    pub(super) workers: usize,
    pub(super) poll_ms: u64,
    /// Until then things go wrong.
    pub(super) heal_ms: u64,
    pub(super) rates: Rates,
    pub(super) clock_steps: Vec<ClockStep>,
    /// Who acts by hand.
    pub(super) people: Vec<Person>,
    /// When which receiver does not work.
    pub(super) spells: Vec<Spell>,
    /// When the store is audited before the end.
    pub(super) audits: Vec<u64>,
    /// All relays die at once and stay away: from which time on, when one of them asks something
    /// of the world; and how long.
    pub(super) outage: Option<(u64, u64)>,
}

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;
/// How far a relay's wall clock may be off: less than half the margin of a lease.
const SKEW_MAX: u64 = 900_000;

impl Plan {
    /// # Errors
    /// A name that breaks a rule, which none of the plan's does.
    pub(super) fn draw(seed: u64, flows: Option<&SimFlows>) -> Result<Self, IdRefused> {
        let dice = &mut Dice::new(seed, 1);
        let heal_ms = dice.between(30_000, 180_000);
        let rates = Rates::draw(dice);
        let count = dice.between(1, 4);
        let sites = (0..count).map(|at| draw_site(dice, at)).collect::<Result<Vec<_>, _>>()?;
        let count = if dice.chance(200) { dice.between(20, 60) } else { dice.between(5, 25) };
        let habit = Habit { lanes: dice.chance(500), poison: dice.chance(300) };
        let orders = (0..count).map(|_| draw_order(dice, sites.len(), heal_ms, habit)).collect();
        let relays = dice.place(4) + 1;
        let skewed = dice.chance(400);
        let skew = |dice: &mut Dice| {
            let off = if skewed { dice.between(0, 2 * SKEW_MAX) } else { SKEW_MAX };
            i64::try_from(off).unwrap_or(0) - i64::try_from(SKEW_MAX).unwrap_or(0)
        };
        let mut plan = Self {
            orders,
            relays,
            runners: 0,
            skews: (0..relays).map(|_| skew(dice)).collect(),
            workers: dice.place(12) + 2,
            poll_ms: dice.between(200, 5_000),
            heal_ms,
            rates,
            clock_steps: draw_clock_steps(dice, heal_ms),
            people: Person::draw_all(dice),
            spells: Spell::draw_all(dice, sites.len(), heal_ms),
            audits: (0..3).map(|_| dice.between(0, heal_ms)).collect(),
            outage: draw_outage(dice, heal_ms, &sites),
            sites,
        };
        if let Some(flows) = flows {
            plan.add_flows(flows, &mut Dice::new(seed, 3));
        }
        plan.spare_known_holes();
        Ok(plan)
    }

    /// Runners, and the receivers of their workflows' commands.
    fn add_flows(&mut self, flows: &SimFlows, dice: &mut Dice) {
        if flows.is_alone {
            self.sites.clear();
            self.orders.clear();
            self.people.clear();
        }
        for name in &flows.receivers {
            let kind = site::KINDS[dice.place(site::KINDS.len())];
            self.sites.push(Arc::new(Site::draw(dice, kind, name.clone())));
        }
        if self.sites.is_empty() {
            // A relay serves at least one.
            self.relays = 0;
            self.skews.clear();
        }
        self.spells = Spell::draw_all(dice, self.sites.len(), self.heal_ms);
        self.outage = draw_outage(dice, self.heal_ms, &self.sites);
        self.runners = dice.place(3) + 1;
        let skewed = self.skews.iter().any(|skew| *skew != 0);
        for _ in 0..self.runners {
            let off = if skewed { dice.between(0, 2 * SKEW_MAX) } else { SKEW_MAX };
            self.skews.push(i64::try_from(off).unwrap_or(0) - i64::try_from(SKEW_MAX).unwrap_or(0));
        }
    }

    /// Leaves out what is known not to hold; `docs/simulator.md` says why.
    fn spare_known_holes(&mut self) {
        let is_asked = self.sites.iter().any(|site| site.asked.is_some());
        let forgets = self.sites.iter().any(|site| matches!(site.folds, Folds::For(_)));
        let may_all_die = self.outage.is_some() || self.rates.crash > 0 || self.rates.stop > 0;
        // The audit compares when a person spoke with when an attempt ended, by two clocks.
        if !self.people.is_empty() {
            self.skews.fill(0);
            self.clock_steps.retain(|step| step.micros > 0);
        }
        // `quiet` is counted by the store's clock, which follows a step ahead.
        // The store's clock does not count the time in which no relay runs and the machine's clock
        // is behind it.
        self.clock_steps
            .retain(|step| if step.micros > 0 { !is_asked } else { !(forgets && may_all_die) });
    }
}

fn draw_site(dice: &mut Dice, at: u64) -> Result<Arc<Site>, IdRefused> {
    let kind = site::KINDS[dice.place(site::KINDS.len())];
    let name = Destination::new(format!("site-{at}"))?;
    Ok(Arc::new(Site::draw(dice, kind, name)))
}

/// What the commands of a plan have in common.
#[derive(Clone, Copy, Debug)]
struct Habit {
    /// Many have an ordering key.
    lanes: bool,
    /// Some are poison.
    poison: bool,
}

fn draw_order(dice: &mut Dice, sites: usize, heal_ms: u64, habit: Habit) -> Order {
    let at_ms = dice.between(0, heal_ms * 8 / 10);
    let later = |dice: &mut Dice, permille, least, most| {
        dice.chance(permille).then(|| at_ms + dice.between(least, most))
    };
    let length = dice.place(24);
    Order {
        at_ms,
        site: dice.place(sites),
        is_refused: dice.chance(100),
        is_decided: dice.chance(150),
        is_poison: habit.poison && dice.chance(80),
        key: (habit.lanes && dice.chance(700)).then(|| dice.place(3)),
        is_repeated: dice.chance(100),
        not_before_ms: later(dice, 120, 100, 40_000),
        expires_ms: later(dice, 200, 50, 60_000),
        body: (0..length).map(|_| u8::try_from(dice.between(32, 126)).unwrap_or(32)).collect(),
    }
}

fn draw_clock_steps(dice: &mut Dice, heal_ms: u64) -> Vec<ClockStep> {
    if !dice.chance(350) {
        return Vec::new();
    }
    let steps = [HOUR, -HOUR, -DAY, 5_000_000, -5_000_000, -300_000_000];
    let one = |dice: &mut Dice| ClockStep {
        at_ms: dice.between(0, heal_ms),
        micros: steps[dice.place(steps.len())],
    };
    (0..dice.between(1, 3)).map(|_| one(dice)).collect()
}

/// At times about as long as a receiver remembers keys, where a window must be exact.
fn draw_outage(dice: &mut Dice, heal_ms: u64, sites: &[Arc<Site>]) -> Option<(u64, u64)> {
    if !dice.chance(350) {
        return None;
    }
    let from = dice.between(0, heal_ms * 8 / 10);
    let remembers = sites.iter().find_map(|site| match site.folds {
        Folds::For(ttl) => Some(ttl),
        Folds::No | Folds::Ever => None,
    });
    let ms = match remembers {
        Some(ttl) if dice.chance(600) => ttl - dice.between(0, 20_000),
        _ => dice.between(20_000, 200_000),
    };
    Some((from, ms))
}
