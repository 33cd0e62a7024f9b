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

use super::announced::Announced;
use super::judge::{Scene, judge_end, judge_open, judge_truth};
use super::lane::Lane;
use super::ledger::Ledger;
use super::notice::told;
use super::plan::{Folds, Site};
use super::trace::Trace;
use super::write::at_once;
use super::{Broken, Coverage};
use crate::MemoryStore;
use crate::memory_store::rows::Rows;

mod lanes;

/// A command as the judge knows it.
#[derive(Clone, Debug)]
struct Known {
    id: String,
    open: Option<Delivery>,
    lane: Option<Lane>,
}

/// What is asked of a receiver, and what it will say.
#[derive(Clone, Debug)]
pub(super) struct Meant {
    pub(super) is_refused: bool,
    pub(super) is_poison: bool,
    /// The place of its destination.
    pub(super) site: usize,
    /// The lane that it belongs to.
    pub(super) lane: Option<Lane>,
    pub(super) body: Vec<u8>,
    /// What the receiver says of it: the result, or why it refuses; `None`: some words.
    pub(super) says: Option<Vec<u8>>,
}

/// The judge of one run.
#[derive(Debug, Default)]
pub(super) struct Watch {
    known: BTreeMap<i64, Known>,
    by_id: BTreeMap<String, i64>,
    pub(super) announced: Announced,
    /// What people said about commands.
    pub(super) said: Ledger,
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

    /// Whether it was parked at any time.
    pub(super) fn was_parked(&self, id: &str) -> bool {
        self.announced.was_parked(id)
    }

    /// When a token of `n` was granted.
    pub(super) fn granted_to(&self, n: i64, token: i64) -> Option<u64> {
        self.granted.get(&(n, token)).copied()
    }

    /// Every command: its id, and its delivery while it is open.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, Option<&Delivery>)> {
        self.known.values().map(|known| (known.id.as_str(), known.open.as_ref()))
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
        let changed = scene.store.look(|rows| self.changed(rows));
        if changed.is_empty() {
            return Ok(parked);
        }
        let before: BTreeMap<i64, Option<Delivery>> =
            changed.iter().map(|n| (*n, self.open(*n).cloned())).collect();
        let moved = self.lanes_that_move(scene, &before);
        for (n, before) in &before {
            let (id, site, after) = scene.store.look(|rows| seen(rows, *n, scene.sites));
            self.tell(&id, before.as_ref(), after.as_ref(), scene, trace, coverage);
            self.judge_allowed(*n, &id, before.as_ref(), after.as_ref(), scene, &moved)?;
            let was_parked = before.as_ref().is_some_and(|open| open.state.is_parked());
            let past = self.said.past(&id);
            let effects = scene.receivers[site].count(&id);
            let keyless = scene.sites[site].folds == Folds::No;
            if let Some(open) = &after {
                judge_open(&id, open, &scene.sites[site], scene)?;
                judge_truth(&id, open, effects.saturating_sub(past))?;
                let is_undone = open.state.is_parked() && !open.in_doubt;
                let is_on = matches!(open.state, State::Pending | State::Sending);
                if keyless && !is_undone && !is_on {
                    self.said.lapsed(&id);
                }
                if open.state.is_parked() && !was_parked {
                    parked.push(id.clone());
                    self.announced.parked(&id);
                }
                self.granted.entry((*n, open.token.get())).or_insert(scene.now_ms);
            } else {
                // Ended by a word, an attempt under way goes on.
                let goes_on = before.as_ref().is_some_and(|it| it.state == State::Sending);
                if keyless && !goes_on {
                    self.said.lapsed(&id);
                }
                judge_end(&id, *n, scene, effects, effects.saturating_sub(past))?;
            }
            self.judge_laws(*n, scene)?;
            let lane = self.meant(&id).and_then(|meant| meant.lane);
            self.by_id.insert(id.clone(), *n);
            self.known.insert(*n, Known { id, open: after, lane });
        }
        self.judge_lanes(&before, scene, coverage)?;
        self.busy = self.known.values().filter(|known| self.is_owned(known, scene)).count();
        Ok(parked)
    }

    /// The lanes of what the write may change by itself: it may give their turns on.
    fn lanes_that_move(
        &self,
        scene: &Scene<'_>,
        before: &BTreeMap<i64, Option<Delivery>>,
    ) -> BTreeSet<Lane> {
        let of = |(n, before): (&i64, &Option<Delivery>)| {
            let known = self.known.get(n)?;
            (scene.allowed)(*n, before.as_ref()).then_some(known.lane).flatten()
        };
        before.iter().filter_map(of).collect()
    }

    fn judge_allowed(
        &self,
        n: i64,
        id: &str,
        before: Option<&Delivery>,
        after: Option<&Delivery>,
        scene: &Scene<'_>,
        moved: &BTreeSet<Lane>,
    ) -> Result<(), Broken> {
        let Some(known) = self.known.get(&n) else { return Ok(()) };
        let moves = known.lane.is_some_and(|lane| moved.contains(&lane));
        let waits = |open: &Delivery| open.state == State::Pending;
        let had_no_turn = before.is_some_and(|it| waits(it) && it.available_at.is_none());
        let lost_turn = before.zip(after).is_some_and(|(before, after)| {
            let without = Delivery { available_at: None, ..before.clone() };
            waits(before) && without == *after
        });
        if (scene.allowed)(n, before) || (moves && (had_no_turn || lost_turn)) {
            return Ok(());
        }
        let rule = "only the newest token, a due time, a receipt or a person changes a delivery";
        Err(Broken::new(rule, format!("{id}: {before:?} became {after:?}")))
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
        let from = FactsFrom { n, open_only: false };
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

    /// Takes a notice; what to write into the trace.
    pub(super) fn hear(&mut self, notice: &Notice, coverage: &mut Coverage) -> Option<String> {
        if let Notice::Parked { command, .. } = notice {
            self.announced.said(command);
        }
        told(notice, coverage)
    }
}

fn seen(rows: &Rows, n: i64, sites: &[Arc<Site>]) -> (String, usize, Option<Delivery>) {
    let Some(outbox) = rows.outbox.get(&n) else { return (format!("n={n}"), 0, None) };
    let site = sites.iter().position(|site| site.name.as_str() == outbox.destination());
    let open = rows.deliveries.get(&n).map(|entry| entry.delivery.clone());
    (outbox.id_text(), site.unwrap_or(0), open)
}
