//! What people do to many commands at once: found by a filter, in pages, in bounded memory.
//!
//! Guarantees: what is uncertain or in doubt is never touched, whatever the filter says; each
//! command is decided by itself, and each refusal is counted by its reason. Does not: act as one
//! transaction; what was done before an error stays done.

use std::collections::BTreeMap;

use crate::domain::failure_group::{FailureGroup, FailureGroups, GroupKey};
use crate::domain::transition::transition;
use crate::domain::{
    Contract, Delivery, Idempotent, Input, Micros, Position, Reason, Receipt, ReceiptOutcome,
    State, Terms, Token, Transition,
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
            Acted::Archived => self.refuse(id, &"it is archived; only `show` reaches it"),
            Acted::Unknown => self.refuse(id, &"its id is no UTF-8, so no verb can name it"),
        }
    }
}

/// Does `act` to what passes `filter`, [`BATCH`] commands a transaction; `filter.limit` and
/// `filter.after` are not looked at.
///
/// `limit`: at most so many are tried, skipped ones not counted; 0: all. With `dry_run` nothing
/// changes, and `done` counts what would be tried: the state machine is asked, but it knows no
/// expiry, and for a redelivery no contract. `on_progress` is called after each batch.
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
    while let Some(page) = pages.next(store).await? {
        for some in page.chunks(BATCH) {
            let mut deeds = Vec::with_capacity(some.len());
            for row in some {
                if limit > 0 && tried == limit {
                    report.more = true;
                    break;
                }
                report.found += 1;
                match skipped(row).or_else(|| if dry_run { foreseen(row, &act) } else { None }) {
                    Some(reason) => report.refuse(&row.command_id, &reason),
                    None => {
                        tried += 1;
                        deeds.push(deed(row, &act));
                    }
                }
            }
            if dry_run {
                report.done += deeds.len() as u64;
            } else if !deeds.is_empty() {
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

/// What the state machine would refuse, as far as a line of a list tells.
fn foreseen(row: &Listed, act: &Act) -> Option<Reason> {
    let position = position(row)?;
    let (actor, reason) = (String::new(), String::new());
    let input = match act.clone() {
        Act::Retry { may_act_twice } => Input::Retry { may_act_twice, expires_at: None },
        Act::Resolve(verdict) => Input::Resolve { verdict, evidence: reason, actor },
        Act::Cancel => Input::Cancel { actor, reason },
        Act::Redeliver { may_act_twice } => Input::Redeliver { may_act_twice, expires_at: None },
    };
    // The most generous contract: what it refuses, every contract does.
    let terms = Terms::new(Contract::new(Idempotent::Forever));
    match transition(&position, input, &terms, row.recorded_at) {
        Transition::Applied { .. } => None,
        Transition::Ignored { reason, .. } | Transition::Refused(reason) => Some(reason),
    }
}

fn position(row: &Listed) -> Option<Position> {
    if let Some(state) = State::from_name(&row.state) {
        let fresh = Delivery::new(0, row.recorded_at);
        return Some(Position::Open(Delivery { state, in_doubt: row.in_doubt, ..fresh }));
    }
    let outcome = ReceiptOutcome::ALL.into_iter().find(|one| one.name() == row.state)?;
    Some(Position::Ended(Receipt {
        n: 0,
        round: row.round,
        outcome,
        result: None,
        evidence: None,
        source: String::new(),
        attempts: row.attempts,
        token: Token::new(row.token),
        first_sent_at: None,
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
            // An id that was no UTF-8 is shown with this character, and finds nothing.
            let is_cursor = |row: &Listed| !row.command_id.contains('\u{fffd}');
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
