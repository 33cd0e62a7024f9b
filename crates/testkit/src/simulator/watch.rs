//! The judge: what the store says, held against what the receivers really did, after each write.
//!
//! Guarantees: each change of a delivery is looked at once, by rules that need no knowledge of how
//! the relay works. Does not: end a run; the world does, at the first broken rule.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use counterfoil_core::domain::laws::{law, of_command};
use counterfoil_core::domain::{Delivery, Micros, ReceiptOutcome, Span, State, Token};
use counterfoil_core::port::read::FactsFrom;
use counterfoil_core::port::{Notice, Store};

use super::plan::Site;
use super::receiver::Receiver;
use super::trace::Trace;
use super::write::at_once;
use super::{Broken, Coverage};
use crate::MemoryStore;
use crate::memory_store::rows::Rows;

/// The longest that a command of a plan waits for its own `not_before`.
const NOT_BEFORE_MAX: Span = Span::from_secs(60);

/// A command as the judge knows it.
#[derive(Clone, Debug)]
struct Known {
    id: String,
    open: Option<Delivery>,
}

/// What is asked of a receiver, and what it will say.
#[derive(Clone, Debug)]
pub(super) struct Meant {
    pub(super) is_refused: bool,
    pub(super) body: Vec<u8>,
}

/// A parking that is to be announced.
#[derive(Debug)]
struct Owed {
    id: String,
    pid: u64,
    /// When its process heard of it; `None`: not yet.
    heard_ms: Option<u64>,
}

/// What a change is judged by.
pub(super) struct Scene<'a> {
    pub(super) store: &'a MemoryStore,
    pub(super) sites: &'a [Arc<Site>],
    pub(super) receivers: &'a [Receiver],
    pub(super) now_ms: u64,
    /// The store's time of the write.
    pub(super) now: Micros,
    /// Which deliveries the write may change.
    pub(super) allowed: &'a dyn Fn(i64, Option<&Delivery>) -> bool,
}

/// The judge of one run.
#[derive(Debug, Default)]
pub(super) struct Watch {
    known: BTreeMap<i64, Known>,
    by_id: BTreeMap<String, i64>,
    owed: Vec<Owed>,
    announced: BTreeMap<String, u32>,
    /// When a token was granted, in the world's milliseconds.
    granted: BTreeMap<(i64, i64), u64>,
    /// Commands of which a receiver said two things on purpose.
    pub(super) contradicted: BTreeSet<String>,
    /// What is asked of a receiver, by command.
    meant: BTreeMap<String, Meant>,
    busy: usize,
}

impl Watch {
    pub(super) fn commands(&self) -> usize {
        self.known.len()
    }

    /// Whether no machine owns a command any more.
    pub(super) fn is_at_rest(&self) -> bool {
        self.busy == 0
    }

    /// The open delivery of `n`, as last seen.
    pub(super) fn open(&self, n: i64) -> Option<&Delivery> {
        self.known.get(&n)?.open.as_ref()
    }

    pub(super) fn n_of(&self, id: &str) -> Option<i64> {
        self.by_id.get(id).copied()
    }

    /// A command that will be recorded.
    pub(super) fn expect(&mut self, id: &str, meant: Meant) {
        self.meant.insert(id.to_owned(), meant);
    }

    pub(super) fn meant(&self, id: &str) -> Option<&Meant> {
        self.meant.get(id)
    }

    pub(super) fn has_ended(&self, id: &str) -> bool {
        self.n_of(id).and_then(|n| self.known.get(&n)).is_some_and(|known| known.open.is_none())
    }

    /// A receiver acted: the store must not say that it did not.
    pub(super) fn judge_effect(&self, id: &str, store: &MemoryStore) -> Result<(), Broken> {
        let Some(n) = self.n_of(id) else {
            return Err(Broken::new("nothing acts that was not recorded", id));
        };
        if let Some(open) = self.open(n) {
            return judge_truth(id, open, 1);
        }
        let receipt =
            store.look(|rows| rows.receipts_of(n).next_back().map(|it| it.receipt.outcome));
        match receipt {
            Some(ReceiptOutcome::Completed) => Ok(()),
            other => {
                let what = format!("{id} acts, and has ended {other:?}");
                Err(Broken::new("undone only where no effect exists", what))
            }
        }
    }

    /// When the token was granted.
    pub(super) fn granted(&self, id: &str, token: Token) -> Option<u64> {
        self.granted.get(&(self.n_of(id)?, token.get())).copied()
    }

    /// Commands that a machine still owns, for people.
    pub(super) fn restless(&self) -> String {
        let owned = self.known.values().filter_map(|known| {
            let open = known.open.as_ref().filter(|open| !open.state.is_parked())?;
            Some(format!("{} {} due {:?}", known.id, open.state.name(), open.available_at))
        });
        owned.collect::<Vec<_>>().join("; ")
    }

    /// Judges what a write changed; the ids of what it parked.
    pub(super) fn written(
        &mut self,
        scene: &Scene<'_>,
        trace: &mut Trace,
        coverage: &mut Coverage,
    ) -> Result<Vec<String>, Broken> {
        let mut parked = Vec::new();
        for n in scene.store.look(|rows| self.changed(rows)) {
            let (id, site, after) = scene.store.look(|rows| seen(rows, n, scene.sites));
            let before = self.known.get(&n).and_then(|known| known.open.clone());
            let is_new = !self.known.contains_key(&n);
            self.tell(&id, before.as_ref(), after.as_ref(), scene, trace, coverage);
            if !is_new && !(scene.allowed)(n, before.as_ref()) {
                let rule = "only the newest token, a due time or a receipt changes a delivery";
                return Err(Broken::new(rule, format!("{id}: {before:?} became {after:?}")));
            }
            let was_parked = before.as_ref().is_some_and(|open| open.state.is_parked());
            if let Some(open) = &after {
                judge_open(&id, open, &scene.sites[site], scene)?;
                judge_truth(&id, open, scene.receivers[site].count(&id))?;
                if open.state.is_parked() && !was_parked {
                    parked.push(id.clone());
                }
                if before.is_none_or(|before| before.token != open.token) {
                    self.granted.insert((n, open.token.get()), scene.now_ms);
                }
            } else {
                judge_end(&id, n, scene, scene.receivers[site].count(&id))?;
            }
            self.judge_laws(n, scene)?;
            self.by_id.insert(id.clone(), n);
            self.known.insert(n, Known { id, open: after });
        }
        let owned = |known: &&Known| known.open.as_ref().is_some_and(|it| !it.state.is_parked());
        self.busy = self.known.values().filter(owned).count();
        Ok(parked)
    }

    /// What is no longer as it was.
    fn changed(&self, rows: &Rows) -> Vec<i64> {
        let differs = |(n, row): (&i64, &crate::memory_store::rows::DeliveryEntry)| {
            let before = self.known.get(n).and_then(|known| known.open.as_ref());
            (before != Some(&row.delivery)).then_some(*n)
        };
        let mut changed: Vec<i64> = rows.deliveries.iter().filter_map(differs).collect();
        let gone = |(n, known): (&i64, &Known)| {
            (known.open.is_some() && !rows.deliveries.contains_key(n)).then_some(*n)
        };
        changed.extend(self.known.iter().filter_map(gone));
        changed
    }

    fn tell(
        &self,
        id: &str,
        before: Option<&Delivery>,
        after: Option<&Delivery>,
        scene: &Scene<'_>,
        trace: &mut Trace,
        coverage: &mut Coverage,
    ) {
        let name = |open: Option<&Delivery>| open.map_or("ended", |open| open.state.name());
        let from = if self.by_id.contains_key(id) { name(before) } else { "new" };
        let at = scene.now_ms;
        let Some(open) = after else {
            return trace.line(at, format_args!("  {id} {from} -> ended"));
        };
        let doubt = if open.in_doubt { " in doubt" } else { "" };
        let (attempts, asks, token) = (open.attempts, open.asks, open.token.get());
        trace.line(
            at,
            format_args!(
                "  {id} {from} -> {}{doubt}, {attempts} attempts, {asks} asks, token {token}",
                open.state.name()
            ),
        );
        if before.is_none_or(|before| before.state != open.state) {
            match open.state {
                State::Uncertain => coverage.count("uncertain"),
                State::Dead => coverage.count("dead"),
                State::Conflict => coverage.count("conflicts"),
                State::Published => coverage.count("published"),
                State::Asking => coverage.count("came to asking"),
                State::Pending | State::Sending => {}
            }
        }
        let was_doubted = before.is_some_and(|before| before.in_doubt);
        if was_doubted && !open.in_doubt {
            coverage.count("doubts cleared");
        }
        if !was_doubted && open.in_doubt {
            coverage.count("doubts");
        }
    }

    fn judge_laws(&self, n: i64, scene: &Scene<'_>) -> Result<(), Broken> {
        let from = FactsFrom { after: n - 1, open_only: false };
        let facts = at_once(scene.store.facts(from, 1)).and_then(Result::ok);
        for command in facts.into_iter().flat_map(|facts| facts.commands) {
            let meant = self.contradicted.contains(&command.id);
            for violation in of_command(&command) {
                if violation.code != law::CONTRADICTED.code || !meant {
                    return Err(Broken::new("the laws of conservation hold", violation.text));
                }
            }
        }
        Ok(())
    }

    /// These were parked by a write of `pid`.
    pub(super) fn owes(&mut self, pid: u64, parked: &[String]) {
        let owed = |id: &String| Owed { id: id.clone(), pid, heard_ms: None };
        self.owed.extend(parked.iter().map(owed));
    }

    /// The process heard what its write did.
    pub(super) fn answered(&mut self, pid: u64, parked: &[String], at_ms: u64) {
        let of = |owed: &&mut Owed| owed.pid == pid && parked.contains(&owed.id);
        self.owed.iter_mut().filter(of).for_each(|owed| owed.heard_ms = Some(at_ms));
    }

    /// The process came to its end at `local_ms` of its own: it cannot say what it had not heard.
    pub(super) fn died(&mut self, pid: u64, local_ms: u64) {
        let in_time = |owed: &Owed| owed.heard_ms.is_some_and(|heard| heard < local_ms);
        self.owed.retain(|owed| owed.pid != pid || in_time(owed));
    }

    /// Takes a notice; what to write into the trace.
    pub(super) fn hear(&mut self, notice: &Notice, coverage: &mut Coverage) -> Option<String> {
        match notice {
            Notice::Parked { command, state, reason, .. } => {
                *self.announced.entry(command.clone()).or_default() += 1;
                Some(format!("parked {command} {}: {reason}", state.name()))
            }
            Notice::Late { command, outcome, counted } => {
                coverage.count("late settles");
                Some(format!("late {command} {outcome}, counted: {counted}"))
            }
            Notice::HandedBack { command, reason } => {
                coverage.count("handed back");
                Some(format!("handed back {command}: {reason}"))
            }
            Notice::Expired { command, .. } => {
                coverage.count("expired");
                Some(format!("expired {command}"))
            }
            Notice::Paused { destination, reason } => {
                coverage.count("destinations paused");
                Some(format!("paused {destination}: {reason}"))
            }
            Notice::Claimed { count, taken_over } => {
                (0..*taken_over).for_each(|_| coverage.count("takeovers claimed again"));
                Some(format!("claimed {count}, taken over {taken_over}"))
            }
            Notice::Settled { command, outcome, reason, now, .. } => {
                Some(format!("settled {command} {outcome} -> {now}: {reason}"))
            }
            Notice::StoreFailed { reason, .. } => Some(format!("the store failed: {reason}")),
            Notice::LeaseLost { command, .. } => {
                coverage.count("leases lost under a handler");
                Some(format!("lease lost {command}"))
            }
            _ => None,
        }
    }

    /// Whether what is parked was announced as it should.
    pub(super) fn judge_notices(&self) -> Result<(), Broken> {
        let rule = "what is parked is announced once";
        if let Some((id, count)) = self.announced.iter().find(|(_, count)| **count > 1) {
            return Err(Broken::new(rule, format!("{id} was announced {count} times")));
        }
        let silent =
            |owed: &&Owed| owed.heard_ms.is_some() && !self.announced.contains_key(&owed.id);
        match self.owed.iter().find(silent) {
            Some(Owed { id, pid, .. }) => {
                Err(Broken::new(rule, format!("{id}, parked by relay {pid}, was not announced")))
            }
            None => Ok(()),
        }
    }
}

fn seen(rows: &Rows, n: i64, sites: &[Arc<Site>]) -> (String, usize, Option<Delivery>) {
    let Some(outbox) = rows.outbox.get(&n) else { return (format!("n={n}"), 0, None) };
    let site = sites.iter().position(|site| site.name.as_str() == outbox.destination());
    let open = rows.deliveries.get(&n).map(|entry| entry.delivery.clone());
    (outbox.id_text(), site.unwrap_or(0), open)
}

fn judge_open(id: &str, open: &Delivery, site: &Site, scene: &Scene<'_>) -> Result<(), Broken> {
    let Site { terms, .. } = site;
    let (contract, pace) = (&terms.contract, &terms.pace);
    // Each "not there" that is believed allows one attempt more.
    if open.attempts > pace.max_attempts + open.asks {
        let (attempts, asks, most) = (open.attempts, open.asks, pace.max_attempts);
        let what = format!("{id} has {attempts} of {most} attempts after {asks} questions");
        return Err(Broken::new("attempts are bounded", what));
    }
    let max_asks = contract.ask.as_ref().map_or(0, |ask| ask.max_asks);
    if open.asks > max_asks {
        let what = format!("{id} was asked about {} times of {max_asks}", open.asks);
        return Err(Broken::new("questions are bounded", what));
    }
    let quiet = contract.ask.as_ref().map_or(Span::ZERO, |ask| ask.quiet);
    let longest = [quiet, pace.max, contract.receipt_timeout, pace.lease, NOT_BEFORE_MAX];
    let longest = longest.into_iter().fold(Span::ZERO, Span::plus);
    let is_owned = !open.state.is_parked();
    // Clocks may have stepped an hour apart.
    let latest = scene.now.plus(longest).plus(Span::from_secs(3_700));
    if is_owned && open.available_at.is_none_or(|at| at > latest) {
        let what = format!("{id} is {} and due {:?}", open.state.name(), open.available_at);
        return Err(Broken::new("what a machine owns has a next check", what));
    }
    Ok(())
}

/// Nothing that is called undone was done.
fn judge_truth(id: &str, open: &Delivery, effects: usize) -> Result<(), Broken> {
    let is_called_undone =
        matches!(open.state, State::Dead) || (open.state == State::Pending && !open.in_doubt);
    if effects > 0 && is_called_undone {
        let what = format!("{id} is {}, not in doubt, and was done", open.state.name());
        return Err(Broken::new("what may have acted is in doubt", what));
    }
    Ok(())
}

fn judge_end(id: &str, n: i64, scene: &Scene<'_>, effects: usize) -> Result<(), Broken> {
    let receipt =
        scene.store.look(|rows| rows.receipts_of(n).next_back().map(|it| it.receipt.clone()));
    let Some(receipt) = receipt else {
        return Err(Broken::new("what has ended has a receipt", id));
    };
    let what = format!("{id} ended {} by {}", receipt.outcome.name(), receipt.source);
    match (receipt.outcome, effects) {
        (ReceiptOutcome::Completed, 0) => {
            Err(Broken::new("completed only where the effect exists", what))
        }
        (ReceiptOutcome::Completed, _) | (_, 0) => Ok(()),
        (_, _) => Err(Broken::new("undone only where no effect exists", what)),
    }
}
