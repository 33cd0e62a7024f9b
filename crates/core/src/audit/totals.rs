//! Whether all commands that were ever recorded are open, ended or archived, by counting.
//!
//! Guarantees: a store that stands still needs no long snapshot; of one that moves nothing sound
//! is called broken. Does not: say which command is missing.

use std::collections::BTreeMap;

use super::report::Findings;
use crate::domain::ReceiptOutcome;
use crate::domain::laws::{CommandFacts, Violation, law, of_totals};
use crate::port::Store;
use crate::port::archive::Tombstone;
use crate::port::read::Status;
use crate::port::store::StoreError;

/// What was counted of one destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Count {
    recorded: i64,
    open: i64,
    ended: BTreeMap<String, i64>,
}

/// What was counted, by destination.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts(BTreeMap<String, Count>);

impl Counts {
    pub(super) fn command(&mut self, facts: &CommandFacts) {
        let beside = || {
            let receipts = facts.receipts.iter().map(|entry| &entry.destination);
            facts.delivery.iter().map(|open| &open.destination).chain(receipts).next()
        };
        // Of one without its row, the destination stands beside it.
        let destination = facts.destination().or_else(|| beside().map(String::as_str));
        let Some(destination) = destination else { return };
        let count = self.at(destination);
        count.recorded += i64::from(facts.has_outbox);
        let newest = facts.receipts.iter().max_by_key(|entry| entry.receipt.round);
        match (&facts.delivery, newest) {
            (Some(_), _) => count.open += 1,
            (None, Some(newest)) => {
                let outcome = newest.receipt.outcome.name();
                *count.ended.entry(outcome.into()).or_default() += 1;
            }
            (None, None) => {}
        }
    }

    pub(super) fn tombstone(&mut self, tombstone: &Tombstone) {
        let count = self.at(&tombstone.destination);
        count.recorded += 1;
        *count.ended.entry(tombstone.outcome.clone()).or_default() += 1;
    }

    fn at(&mut self, destination: &str) -> &mut Count {
        if !self.0.contains_key(destination) {
            self.0.insert(destination.to_owned(), Count::default());
        }
        self.0.entry(destination.to_owned()).or_default()
    }
}

/// What a status says of one destination.
fn standing(status: &Status) -> BTreeMap<String, Count> {
    let of = |states: &BTreeMap<String, u64>| {
        let mut count = Count::default();
        for (name, found) in states {
            let found = i64::try_from(*found).unwrap_or(i64::MAX);
            if ReceiptOutcome::from_name(name).is_some() {
                count.ended.insert(name.clone(), found);
            } else {
                count.open += found;
            }
            count.recorded += found;
        }
        count
    };
    status.destinations.iter().map(|(name, states)| (name.clone(), of(states))).collect()
}

/// Everything was counted page by page: if that is what stands, all is well. Else a snapshot says
/// whether something is wrong or only moved meanwhile.
pub(super) async fn of_all<S: Store>(
    store: &S,
    counts: &Counts,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let standing = standing(&store.status().await?);
    let counted = counts.0.iter().filter(|(_, count)| **count != Count::default());
    if counted.eq(standing.iter().filter(|(_, count)| **count != Count::default())) {
        findings.checked.destinations += standing.len() as u64;
        return Ok(());
    }
    for totals in store.totals().await? {
        findings.checked.destinations += 1;
        findings.add(of_totals(&totals));
    }
    Ok(())
}

/// By destination: how many commands stand in the outbox.
pub(super) type Recorded = BTreeMap<String, i64>;

/// Adds each command of the outbox to `recorded`.
pub(super) fn record(recorded: &mut Recorded, facts: &CommandFacts) {
    if !facts.has_outbox {
        return;
    }
    let beside = facts.delivery.iter().map(|open| open.destination.as_str());
    let receipts = facts.receipts.iter().map(|entry| entry.destination.as_str());
    let row = facts.destination().into_iter();
    let Some(destination) = row.chain(beside).chain(receipts).next() else { return };
    match recorded.get_mut(destination) {
        Some(count) => *count += 1,
        None => {
            recorded.insert(destination.to_owned(), 1);
        }
    }
}

/// Those recorded before and after something was done at once.
pub(super) fn sum(mut one: Recorded, other: &Recorded) -> Recorded {
    for (destination, count) in other {
        *one.entry(destination.clone()).or_default() += count;
    }
    one
}

/// What stands, and what is outside of what must: `least` was recorded before, `most` after.
pub(super) struct Between<'a> {
    pub(super) status: &'a Status,
    pub(super) least: &'a Recorded,
    pub(super) most: &'a Recorded,
}

impl Between<'_> {
    /// The destinations whose open and ended commands are not those that were recorded.
    pub(super) fn violations(&self) -> Vec<Violation> {
        let standing = standing(self.status);
        let names =
            standing.keys().chain(self.most.keys()).collect::<std::collections::BTreeSet<_>>();
        let told = |name: &&String| {
            let stands = standing.get(*name).map_or(0, |count| count.recorded);
            let of = |recorded: &Recorded| recorded.get(*name).copied().unwrap_or(0);
            let (least, most) = (of(self.least), of(self.most));
            if (least..=most).contains(&stands) {
                return None;
            }
            let open = standing.get(*name).map_or(0, |count| count.open);
            let found = format!(
                "destination {name} has {open} open and {} ended commands by its tally, but \
                 {least} were recorded",
                stands - open
            );
            Some(Violation::of(&law::TOTALS, vec![(*name).clone()], &found))
        };
        names.iter().filter_map(told).collect()
    }
}
