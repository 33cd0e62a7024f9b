//! The judge: what the store says, held against what the receivers really did, after each write.
//!
//! Guarantees: each change of a delivery is looked at once, by rules that need no knowledge of how
//! the relay works. Does not: end a run; the world does, at the first broken rule.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use counterfoil_core::domain::laws::{law, of_command};
use counterfoil_core::domain::{Delivery, ReceiptOutcome, State, Token};
use counterfoil_core::port::read::FactsFrom;
use counterfoil_core::port::{Notice, Store};

use super::judge::{Scene, judge_end, judge_open, judge_truth};
use super::notice::told;
use super::plan::Site;
use super::trace::Trace;
use super::write::at_once;
use super::{Broken, Coverage};
use crate::MemoryStore;
use crate::memory_store::rows::Rows;

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
        if let Notice::Parked { command, .. } = notice {
            *self.announced.entry(command.clone()).or_default() += 1;
        }
        told(notice, coverage)
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
