//! Whether breakers and limits hold claims back, looked at from outside: by what a relay asks of
//! the store, and when.
//!
//! Guarantees: the bounds are those of `docs/breaker.md`; where the outside sees less than the
//! relay, the bound is the weaker one. Does not: judge when a breaker opens; the trace shows it.

use std::collections::{BTreeMap, VecDeque};

use counterfoil_core::domain::breaker::Health;
use counterfoil_core::domain::rate::Rate;
use counterfoil_core::domain::{Delivery, Micros, Outcome};
use counterfoil_core::port::store::{Ended, Exchange, Exchanged, Settle};

use super::{Broken, Coverage};

/// The first pause of an open breaker, in milliseconds.
const FIRST_MS: u64 = 1_000;
/// The longest, and after which a probe that does not end is joined by another.
const LONGEST_MS: u64 = 30_000;

/// Since when each breaker of a process is open, by destination.
pub(super) type Opened = BTreeMap<String, u64>;

/// What a process and the judge share about its limits.
#[derive(Debug, Default)]
pub(super) struct Gauges {
    pub(super) opened: Opened,
    /// When each breaker last closed.
    pub(super) closed: Opened,
    under_way: BTreeMap<usize, usize>,
    begun: BTreeMap<usize, VecDeque<u64>>,
    /// How often a limit was reached.
    pub(super) full: u64,
    /// A limit that was passed.
    pub(super) broken: Option<Broken>,
}

impl Gauges {
    /// An attempt or a question begins at the site of that place.
    pub(super) fn begins(&mut self, place: usize, concurrency: Option<usize>) {
        let under_way = self.under_way.entry(place).or_default();
        *under_way += 1;
        self.full += u64::from(concurrency.is_some_and(|most| *under_way == most));
        if concurrency.is_some_and(|most| *under_way > most) {
            let what = format!("{under_way} attempts at site {place}");
            self.broken.get_or_insert(Broken::new("no more are under way than may be", what));
        }
    }

    pub(super) fn ends(&mut self, place: usize) {
        let under_way = self.under_way.entry(place).or_default();
        *under_way = under_way.saturating_sub(1);
    }

    /// A send begins; questions count, too, and are not looked at here.
    pub(super) fn sends(&mut self, place: usize, rate: Rate, now_ms: u64) {
        let begun = self.begun.entry(place).or_default();
        let per = rate.per.to_std().as_millis();
        while begun.front().is_some_and(|at| u128::from(now_ms - at) >= per) {
            begun.pop_front();
        }
        begun.push_back(now_ms);
        self.full += u64::from(begun.len() == usize::try_from(rate.count).unwrap_or(usize::MAX));
        if begun.len() > usize::try_from(rate.count).unwrap_or(usize::MAX) {
            let what = format!("{} began at site {place} within {per} ms", begun.len());
            self.broken.get_or_insert(Broken::new("no more begin in a time than may", what));
        }
    }
}

/// A probe as the judge saw it.
#[derive(Debug)]
struct Probe {
    n: i64,
    issued_ms: u64,
    /// How it ended; `None`: not yet.
    ended: Option<Health>,
    /// Another was let through beside it.
    is_joined: bool,
}

/// One span in which a breaker is open.
#[derive(Debug)]
struct Span {
    since_ms: u64,
    pause_ms: u64,
    probe: Option<Probe>,
}

/// The judge of all breakers of a run.
#[derive(Debug, Default)]
pub(super) struct Breakers(BTreeMap<(u64, String), Span>);

/// What a settle says about its destination, as `docs/breaker.md` has it.
fn health(settle: &Settle) -> Option<Health> {
    match &settle.ended {
        Ended::Outcome(outcome) => Some(outcome.health()),
        Ended::Answer(_) | Ended::HandedBack => None,
    }
}

impl Breakers {
    fn span(&mut self, pid: u64, name: &str, since_ms: u64) -> &mut Span {
        let fresh = || Span { since_ms, pause_ms: FIRST_MS, probe: None };
        let span = self.0.entry((pid, name.to_owned())).or_insert_with(fresh);
        if span.since_ms != since_ms {
            *span = fresh();
        }
        span
    }

    /// A process asks the store for something, while these of its breakers are open.
    pub(super) fn asked(
        &mut self,
        pid: u64,
        exchange: &Exchange,
        (opened, closed): (&Opened, &Opened),
        claimed_ms: &dyn Fn(&Settle) -> Option<u64>,
        coverage: &mut Coverage,
    ) -> Result<(), Broken> {
        for settle in &exchange.settles {
            let name = settle.claimed.command.destination.as_str();
            let since = opened.get(name).copied();
            self.settled(pid, settle, since, coverage)?;
            let was_open = since.is_some()
                || closed.get(name).is_some_and(|at| claimed_ms(settle).is_none_or(|c| *at >= c));
            if !settle.burns && !was_open {
                let what = format!("{} at {name}", settle.claimed.command.command_id);
                return Err(Broken::new("each attempt counts while the breaker is closed", what));
            }
        }
        for from in &exchange.claim_from {
            if opened.contains_key(from.destination.as_str()) && from.limit > 1 {
                let what = format!("relay {pid} asks {} for {}", from.destination, from.limit);
                return Err(Broken::new("an open breaker lets one probe through at a time", what));
            }
        }
        Ok(())
    }

    fn settled(
        &mut self,
        pid: u64,
        settle: &Settle,
        since: Option<u64>,
        coverage: &mut Coverage,
    ) -> Result<(), Broken> {
        let name = settle.claimed.command.destination.as_str();
        let Some(since) = since else { return Ok(()) };
        let span = self.span(pid, name, since);
        let pause_ms = span.pause_ms;
        let n = settle.claimed.delivery.n;
        let Some(probe) = span.probe.as_mut().filter(|it| it.n == n && it.ended.is_none()) else {
            return Ok(());
        };
        let health = health(settle);
        probe.ended = Some(health.unwrap_or(Health::Nothing));
        let is_joined = probe.is_joined;
        let fails = matches!(health, Some(Health::Fails | Health::Misconfigured));
        let burns = settle.burns && (fails || health == Some(Health::Busy));
        if fails {
            span.pause_ms = (2 * pause_ms).min(LONGEST_MS);
        }
        if fails || health == Some(Health::Busy) {
            coverage.count("probes that found it down");
        }
        if burns && !is_joined {
            let what = format!("{} at {name}", settle.claimed.command.command_id);
            return Err(Broken::new("a probe burns no attempt", what));
        }
        Ok(())
    }

    /// The store granted claims that were issued at `issued_ms`, and the process will hear of it.
    pub(super) fn granted(
        &mut self,
        pid: u64,
        issued_ms: u64,
        opened: &Opened,
        done: &Exchanged,
        coverage: &mut Coverage,
    ) -> Result<(), Broken> {
        for claimed in &done.claimed {
            let name = claimed.command.destination.as_str();
            let Some(since) = opened.get(name).copied() else { continue };
            coverage.count("probes");
            let span = self.span(pid, name, since);
            let rule = "an open breaker waits before it probes";
            if issued_ms < since + FIRST_MS {
                let what = format!("relay {pid} at {name}: {} ms after", issued_ms - since);
                return Err(Broken::new(rule, what));
            }
            let mut is_joined = false;
            if let Some(probe) = &span.probe {
                let least = match probe.ended {
                    None => LONGEST_MS,
                    Some(Health::Fails | Health::Misconfigured | Health::Busy) => span.pause_ms,
                    Some(Health::Nothing | Health::Works) => 0,
                };
                is_joined = probe.ended.is_none();
                if issued_ms < probe.issued_ms + least {
                    let waited = issued_ms - probe.issued_ms;
                    let what = format!("relay {pid} at {name}: {waited} ms of {least}");
                    return Err(Broken::new(rule, what));
                }
            }
            let n = claimed.delivery.n;
            span.probe = Some(Probe { n, issued_ms, ended: None, is_joined });
        }
        Ok(())
    }
}

/// Judges that the longest due went first: of what was due before the write, nothing that the
/// write left alone was due before what it claimed.
pub(super) fn judge_oldest(
    name: &str,
    due: &[(&Delivery, bool)],
    claimed: &[i64],
    now: Micros,
) -> Result<(), Broken> {
    let was_due = |one: &Delivery| one.available_at.filter(|at| *at <= now);
    let newest = due.iter().filter(|(one, _)| claimed.contains(&one.n));
    let Some(newest) = newest.filter_map(|(one, _)| was_due(one)).max() else { return Ok(()) };
    let left = due.iter().filter(|(one, is_changed)| !is_changed && !claimed.contains(&one.n));
    match left.filter_map(|(one, _)| Some((one.n, was_due(one)?))).find(|(_, at)| *at < newest) {
        Some((n, at)) => {
            let what = format!("{name}: n={n} is due since {at:?}, another since {newest:?} went");
            Err(Broken::new("the longest due goes first, as a probe too", what))
        }
        None => Ok(()),
    }
}

/// Judges that a probe that failed waits until the next may go.
pub(super) fn judge_wait(
    id: &str,
    after: &Delivery,
    outcome: &Outcome,
    now: Micros,
) -> Result<(), Broken> {
    let Some(wait) = outcome.retry_after() else { return Ok(()) };
    if after.available_at.is_some_and(|at| at < now.plus(wait)) {
        let what = format!("{id} is due again before the {} ms", wait.as_micros() / 1000);
        return Err(Broken::new("a probed command waits until the next probe may go", what));
    }
    Ok(())
}
