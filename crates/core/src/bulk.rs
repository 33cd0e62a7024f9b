//! What people do to many commands at once: found by a filter, in pages, in bounded memory.
//!
//! Guarantees: what is uncertain or in doubt is never touched, whatever the filter says; each
//! command is decided by itself, and each refusal is counted by its reason. Does not: act as one
//! transaction; what was done before an error stays done.

use std::collections::BTreeMap;

use crate::domain::failure_group::{FailureGroup, FailureGroups, GroupKey};
use crate::domain::transition::transition;
use crate::domain::{
    Contract, Delivery, Idempotent, Micros, Position, Reason, Receipt, ReceiptOutcome, State,
    Terms, Token, Transition,
};
use crate::port::read::{Filter, Listed};
use crate::port::store::StoreError;
use crate::port::{Act, Acted, Actor, Deed, Store};

/// How many commands are acted on in one transaction.
pub const BATCH: usize = 100;
/// How many are read at once.
const PAGE: usize = 500;
/// The most a page grows to, to get past ids that cannot be cursors.
const PAGE_MAX: usize = 1 << 16;

/// An id that was no UTF-8 is shown with this character, and finds nothing.
const NO_UTF8: char = '\u{fffd}';

/// What came of a bulk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkReport {
    /// Commands that passed the filter, as far as they were looked at.
    pub found: u64,
    /// Commands that were acted on; in a dry run, that would be.
    pub done: u64,
    /// Those that were refused or skipped, by reason.
    pub refused: BTreeMap<String, RefusedGroup>,
    /// The limit ended it, and more may pass the filter.
    pub more: bool,
}

/// Commands that were refused for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedGroup {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub example: String,
}

impl BulkReport {
    /// How many were refused or skipped.
    #[must_use]
    pub fn refused_count(&self) -> u64 {
        self.refused.values().map(|group| group.count).sum()
    }

    fn refuse(&mut self, id: &str, why: &impl ToString) {
        let fresh = || RefusedGroup { count: 0, example: id.to_owned() };
        self.refused.entry(why.to_string()).or_insert_with(fresh).count += 1;
    }

    fn add(&mut self, id: &str, acted: &Acted) {
        match acted {
            Acted::Done { .. } => self.done += 1,
            Acted::Refused(reason) => self.refuse(id, reason),
            Acted::Archived => self.refuse(id, &"it is archived; only `show` and `erase` reach it"),
            Acted::Unknown => self.refuse(id, &"its id is no UTF-8, so no verb can name it"),
        }
    }
}

/// Does `act` to what passes `filter`, [`BATCH`] commands a transaction; `filter.limit` and
/// `filter.after` are not looked at.
///
/// `limit`: at most so many are tried, skipped ones not counted; 0: all. With `dry_run` nothing
/// changes, and `done` counts what would be done: each command is judged as the store would judge
/// it, by the same rules and by the contracts that are stored now. `on_progress` is called after
/// each batch.
///
/// # Errors
/// [`StoreError`]; what was done before stays done, and the last progress says how much that was.
pub async fn by_filter<S: Store>(
    store: &S,
    filter: Filter,
    act: Act,
    actor: Actor,
    limit: usize,
    dry_run: bool,
    mut on_progress: impl FnMut(&BulkReport) + Send,
) -> Result<BulkReport, StoreError> {
    let mut report = BulkReport::default();
    let mut pages = Pages::new(filter);
    let mut tried = 0;
    let foresight = if dry_run { Some(Foresight::new(store).await?) } else { None };
    while let Some(page) = pages.next(store).await? {
        for some in page.chunks(BATCH) {
            let mut deeds = Vec::with_capacity(some.len());
            for row in some {
                if limit > 0 && tried == limit {
                    report.more = true;
                    break;
                }
                report.found += 1;
                if let Some(reason) = skipped(row) {
                    report.refuse(&row.command_id, &reason);
                    continue;
                }
                tried += 1;
                let deed = deed(row, &act);
                match &foresight {
                    Some(foresight) => {
                        report.add(&row.command_id, &foresight.of(row, &deed, &actor));
                    }
                    None => deeds.push(deed),
                }
            }
            if !deeds.is_empty() {
                let ids: Vec<_> = deeds.iter().map(|deed| deed.command_id.clone()).collect();
                let acted = store.act(deeds, actor.clone()).await?;
                ids.iter().zip(&acted).for_each(|(id, acted)| report.add(id, acted));
            }
            on_progress(&report);
            if report.more {
                return Ok(report);
            }
        }
    }
    Ok(report)
}

/// Failures of what passes `filter`, those that are alike together, largest group first. What has
/// completed, or never failed, is left out; `filter.limit` and `filter.after` are not looked at.
///
/// # Errors
/// [`StoreError`].
pub async fn groups<S: Store>(
    store: &S,
    filter: Filter,
) -> Result<Vec<(GroupKey, FailureGroup)>, StoreError> {
    let mut groups = FailureGroups::default();
    let mut pages = Pages::new(filter);
    while let Some(page) = pages.next(store).await? {
        for row in page.iter().filter(|row| is_failure(row)) {
            let reason = row.last_outcome.as_deref().unwrap_or_default();
            let Listed { command_id, destination, state, recorded_at, .. } = row;
            groups.add(command_id, destination, state, reason, *recorded_at);
        }
    }
    Ok(groups.largest_first())
}

fn is_failure(row: &Listed) -> bool {
    let succeeded = [ReceiptOutcome::Completed, ReceiptOutcome::Accepted];
    match State::from_name(&row.state) {
        Some(state) => state.is_parked() || row.last_outcome.is_some(),
        None => !succeeded.iter().any(|outcome| outcome.name() == row.state),
    }
}

fn deed(row: &Listed, act: &Act) -> Deed {
    Deed { command_id: row.command_id.clone(), act: act.clone(), by_filter: true }
}

/// The store would refuse it, too; here it costs no write.
fn skipped(row: &Listed) -> Option<Reason> {
    let is_doubtful = row.in_doubt || row.state == State::Uncertain.name();
    is_doubtful.then_some(Reason::InDoubt)
}

/// What a store would answer, from a line of a list.
struct Foresight {
    contracts: BTreeMap<String, Option<Contract>>,
    now: Micros,
}

impl Foresight {
    async fn new<S: Store>(store: &S) -> Result<Self, StoreError> {
        Ok(Self { contracts: store.contracts().await?, now: store.now()? })
    }

    /// As the store's own `act` goes: what refuses beforehand, then the state machine.
    fn of(&self, row: &Listed, deed: &Deed, actor: &Actor) -> Acted {
        if row.command_id.contains(NO_UTF8) {
            return Acted::Unknown;
        }
        let Some(position) = position(row) else { return Acted::Refused(Reason::Ended) };
        if let Some(reason) = deed.refused_before(&position, row.is_erased) {
            return Acted::Refused(reason);
        }
        let stored = self.contracts.get(&row.destination).cloned().flatten();
        let terms = Terms::new(stored.unwrap_or_else(|| Contract::new(Idempotent::No)));
        let input = deed.act.input(actor, row.expires_at);
        match transition(&position, input, &terms, self.now) {
            // What it would be is not said, only that it would.
            Transition::Applied { .. } => Acted::Done { before: "", after: "" },
            Transition::Ignored { reason, .. } | Transition::Refused(reason) => {
                Acted::Refused(reason)
            }
        }
    }
}

/// Where a verb finds the command; `None` where no verb can.
fn position(row: &Listed) -> Option<Position> {
    let first_sent_at = row.first_sent_at;
    let outcome = ReceiptOutcome::ALL.into_iter().find(|one| one.name() == row.state);
    let state = match (State::from_name(&row.state), outcome) {
        // A state that is none is taken for one under way, as stores do; no row is no state.
        (None, None) => (row.round > 0).then_some(State::Sending),
        (state, _) => state,
    };
    if let Some(state) = state {
        let fresh = Delivery::new(0, row.recorded_at);
        let (round, in_doubt) = (row.round, row.in_doubt);
        return Some(Position::Open(Delivery { state, round, in_doubt, first_sent_at, ..fresh }));
    }
    let outcome = outcome?;
    Some(Position::Ended(Receipt {
        n: 0,
        round: row.round,
        outcome,
        result: None,
        evidence: None,
        source: String::new(),
        attempts: row.attempts,
        token: Token::new(row.token),
        first_sent_at,
        recorded_at: Micros::default(),
        key_seq: None,
    }))
}

/// The pages of a list.
struct Pages {
    filter: Filter,
    ended: bool,
}

impl Pages {
    fn new(filter: Filter) -> Self {
        Self { filter: Filter { limit: PAGE, after: None, ..filter }, ended: false }
    }

    /// The next page; `None`: there is none.
    async fn next<S: Store>(&mut self, store: &S) -> Result<Option<Vec<Listed>>, StoreError> {
        while !self.ended {
            let mut page = store.list(self.filter.clone()).await?;
            if page.len() < self.filter.limit {
                self.ended = true;
                return Ok((!page.is_empty()).then_some(page));
            }
            let is_cursor = |row: &Listed| !row.command_id.contains(NO_UTF8);
            if let Some(last) = page.iter().rposition(is_cursor) {
                page.truncate(last + 1);
                self.filter.after = page.last().map(|row| row.command_id.clone());
                self.filter.limit = PAGE;
                return Ok(Some(page));
            }
            if self.filter.limit >= PAGE_MAX {
                let why = "too many ids in a row are no UTF-8 to page past them";
                return Err(StoreError::Broken(why.into()));
            }
            self.filter.limit *= 2;
        }
        Ok(None)
    }
}
