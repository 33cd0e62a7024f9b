//! The rules that one change of a delivery must keep.
//!
//! Guarantees: each takes the truth from the receivers, not from the store. Does not: remember;
//! see `watch`.

use std::sync::Arc;

use counterfoil_core::domain::{Delivery, Micros, ReceiptOutcome, Span, State};

use super::Broken;
use super::plan::Site;
use super::receiver::Receiver;
use crate::MemoryStore;

/// The longest that a command of a plan waits for its own `not_before`.
const NOT_BEFORE_MAX: Span = Span::from_secs(60);

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

pub(super) fn judge_open(
    id: &str,
    open: &Delivery,
    site: &Site,
    scene: &Scene<'_>,
) -> Result<(), Broken> {
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
    let is_blocked =
        open.key_seq.is_some() && open.state == State::Pending && open.available_at.is_none();
    if is_owned && !is_blocked && open.available_at.is_none_or(|at| at > latest) {
        let what = format!("{id} is {} and due {:?}", open.state.name(), open.available_at);
        return Err(Broken::new("what a machine owns has a next check", what));
    }
    Ok(())
}

/// Nothing that is called undone was done.
pub(super) fn judge_truth(id: &str, open: &Delivery, effects: usize) -> Result<(), Broken> {
    let is_called_undone =
        matches!(open.state, State::Dead) || (open.state == State::Pending && !open.in_doubt);
    if effects > 0 && is_called_undone {
        let what = format!("{id} is {}, not in doubt, and was done", open.state.name());
        return Err(Broken::new("what may have acted is in doubt", what));
    }
    Ok(())
}

/// `effects` counts all acts of its receiver, `new` those that no person closed.
pub(super) fn judge_end(
    id: &str,
    n: i64,
    scene: &Scene<'_>,
    effects: usize,
    new: usize,
) -> Result<(), Broken> {
    let receipt =
        scene.store.look(|rows| rows.receipts_of(n).next_back().map(|it| it.receipt.clone()));
    let Some(receipt) = receipt else {
        return Err(Broken::new("what has ended has a receipt", id));
    };
    let what = format!("{id} ended {} by {}", receipt.outcome.name(), receipt.source);
    let by_person = receipt.source.starts_with("operator ");
    match (receipt.outcome, new) {
        // Whoever says so answers for it.
        (ReceiptOutcome::Completed, 0) if effects > 0 || by_person => Ok(()),
        (ReceiptOutcome::Completed, 0) => {
            Err(Broken::new("completed only where the effect exists", what))
        }
        (ReceiptOutcome::Completed, _) | (_, 0) => Ok(()),
        (_, _) => Err(Broken::new("undone only where no effect exists", what)),
    }
}
