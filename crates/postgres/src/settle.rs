//! Settles what attempts came to, and renews leases.
//!
//! Guarantees: a settle counts while state and token are its own, even after the lease; a stale
//! one changes nothing and is recorded; what another transaction holds is told as held, and nobody
//! waits. Plain successes, the common case, are one statement. Does not: claim.

use std::collections::{HashMap, HashSet};

use counterfoil_core::domain::{
    Delivery, Input, Next, Outcome, Position, Reason, Receipt, ReceiptOutcome, State, Transition,
    transition,
};
use counterfoil_core::port::store::{Claimed, Ended, ParkedNow, Renew, Reported, Settle, Settled};
use futures_util::future::try_join3;

use crate::failure::Failure;
use crate::group::Group;
use crate::lane::{Freed, Lane};
use crate::position::{self, Held, Stands, Subject, Written, int};
use crate::report::Reporting;
use crate::row::micros;
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::workflow::input::of_receipts;

const SETTLE_COMPLETED: Statement = statement!("settle_completed");
const STREAM_ROW: Statement = statement!("stream_row");

/// The settles of one exchange: first those that are plainly well, then the others.
pub(crate) struct Settling<'a> {
    settles: &'a [Settle],
    /// Plain successes with their receipts, by their place in `settles`, in the order of `n`.
    plain: Vec<(usize, Receipt)>,
}

impl<'a> Settling<'a> {
    /// Tells plain successes from the rest. Judged from memory, since whatever else the row may
    /// say, its token and state decide, and the statement compares them.
    pub(crate) fn new(store: &Inner, settles: &'a [Settle]) -> Self {
        let now = store.now();
        let mut times: HashMap<i64, u32> = HashMap::new();
        for settle in settles {
            *times.entry(settle.claimed.delivery.n).or_default() += 1;
        }
        let receipt = |(at, settle): (usize, &Settle)| {
            let claimed = &settle.claimed.delivery;
            // Two attempts of one command are settled one after the other.
            let plain = matches!(settle.ended, Ended::Outcome(Outcome::Completed { .. }))
                && claimed.state == State::Sending
                && times.get(&claimed.n) == Some(&1);
            if !plain {
                return None;
            }
            let before = Position::Open(without_words(claimed));
            match transition(&before, input(settle, None), &settle.terms, now) {
                Transition::Applied { next: Next::Ended(receipt), attempted: None }
                    if receipt.outcome == ReceiptOutcome::Completed =>
                {
                    Some((at, receipt))
                }
                _ => None,
            }
        };
        let mut plain: Vec<_> = settles.iter().enumerate().filter_map(receipt).collect();
        plain.sort_unstable_by_key(|(_, receipt)| receipt.n);
        Self { settles, plain }
    }

    /// Ends what is plainly well; gives the numbers that it ended.
    pub(crate) async fn end_plain(&self, tx: &Tx<'_>) -> Result<Vec<i64>, Failure> {
        if self.plain.is_empty() {
            return Ok(Vec::new());
        }
        let all = || self.plain.iter().map(|(at, receipt)| (&self.settles[*at].claimed, receipt));
        let numbers: Vec<i64> = all().map(|(_, receipt)| receipt.n).collect();
        let tokens: Vec<i64> = all().map(|(claimed, _)| claimed.delivery.token.get()).collect();
        let rounds: Vec<i32> = all().map(|(_, receipt)| int(receipt.round)).collect();
        let attempts: Vec<i32> = all().map(|(_, receipt)| int(receipt.attempts)).collect();
        let sent: Vec<Option<i64>> =
            all().map(|(_, receipt)| micros(receipt.first_sent_at)).collect();
        let places: Vec<Option<i64>> = all().map(|(_, receipt)| receipt.key_seq).collect();
        let names: Vec<&str> =
            all().map(|(claimed, _)| claimed.command.destination.as_str()).collect();
        let digests: Vec<&[u8]> =
            all().map(|(claimed, _)| claimed.digest.as_bytes().as_slice()).collect();
        let row_digests: Vec<&[u8]> =
            all().map(|(claimed, _)| claimed.row_digest.as_bytes().as_slice()).collect();
        let results: Vec<Option<&[u8]>> =
            all().map(|(_, receipt)| receipt.result.as_deref()).collect();
        let evidence: Vec<Option<&str>> =
            all().map(|(_, receipt)| receipt.evidence.as_deref()).collect();
        let sources: Vec<&str> = all().map(|(_, receipt)| receipt.source.as_str()).collect();
        let columns: [&dyn crate::param::Param; 12] = [
            &numbers,
            &tokens,
            &rounds,
            &attempts,
            &sent,
            &places,
            &names,
            &digests,
            &row_digests,
            &results,
            &evidence,
            &sources,
        ];
        let mut freed = Freed::default();
        for (at, _) in &self.plain {
            if let Some((lane, on_parked)) = lane(&self.settles[*at]) {
                freed.add(lane, on_parked);
            }
        }
        let settle = tx.query(SETTLE_COMPLETED, &columns);
        // Behind the settles and before the looks, in one round trip: who gets the turn is found.
        let give =
            async { if freed.is_empty() { Ok(()) } else { freed.give(tx, None).await.map(drop) } };
        let (ended, ..) = try_join3(settle, self.give_inputs(tx), give).await?;
        Ok(ended.iter().filter_map(|row| crate::row::int(row, 0)).collect())
    }

    /// Plain receipts of commands of streams become inputs, where a workflow waits for them.
    async fn give_inputs(&self, tx: &Tx<'_>) -> Result<(), Failure> {
        let of_stream = self.plain.iter().filter(|(at, _)| is_of_stream(&self.settles[*at]));
        let (numbers, rounds): (Vec<i64>, Vec<i32>) =
            of_stream.map(|(_, receipt)| (receipt.n, int(receipt.round))).unzip();
        if numbers.is_empty() {
            return Ok(());
        }
        of_receipts(tx, &numbers, &rounds).await.map(drop)
    }

    /// Ends what is plainly well and was held by another transaction a moment ago, as by a claim
    /// that came too late: `held` are the rest, ours now. Not those of lanes, whose locks are taken
    /// once and in one order.
    async fn end_freed(
        &self,
        tx: &Tx<'_>,
        held: &[(usize, Held)],
    ) -> Result<HashSet<i64>, Failure> {
        let is_ours = |held: &Held, claimed: &Delivery| match held {
            Held::Ours(stands) => matches!(&stands.position, Position::Open(open)
                if open.token == claimed.token && open.state == State::Sending),
            Held::Others | Held::NotOpen => false,
        };
        let free = held.iter().filter(|(at, held)| {
            let settle = &self.settles[*at];
            lane(settle).is_none() && is_ours(held, &settle.claimed.delivery)
        });
        let free: HashSet<usize> = free.map(|(at, _)| *at).collect();
        let plain: Vec<_> =
            self.plain.iter().filter(|(at, _)| free.contains(at)).cloned().collect();
        let ended = Self { settles: self.settles, plain }.end_plain(tx).await?;
        Ok(ended.into_iter().collect())
    }

    /// Settles the rest, with `ended` by [`Self::end_plain`]; in the order of the settles. What it
    /// parks is added to `parked`.
    pub(crate) async fn end_others(
        &self,
        group: &mut Group<'_>,
        ended: &[i64],
        parked: &mut Vec<ParkedNow>,
    ) -> Result<Vec<Settled>, Failure> {
        let mut settled: Vec<Option<Settled>> = vec![None; self.settles.len()];
        let completed = ReceiptOutcome::Completed.name();
        let ended: HashSet<i64> = ended.iter().copied().collect();
        for (at, receipt) in &self.plain {
            if !ended.contains(&receipt.n) {
                continue;
            }
            settled[*at] = Some(Settled::Ended(completed));
        }
        let mut order: Vec<usize> =
            (0..settled.len()).filter(|at| settled[*at].is_none()).collect();
        order.sort_unstable_by_key(|&at| self.settles[at].claimed.delivery.n);
        let number = |&at: &usize| self.settles[at].claimed.delivery.n;
        let numbers: Vec<i64> = order.iter().map(number).collect();
        let held = if numbers.is_empty() {
            Vec::new()
        } else {
            position::read_free(group, &numbers).await?
        };
        let held: Vec<(usize, Held)> = order.into_iter().zip(held).collect();
        let freed = self.end_freed(group.tx, &held).await?;
        let mut before = None;
        for (at, held) in held {
            let n = number(&at);
            if freed.contains(&n) {
                settled[at] = Some(Settled::Ended(completed));
                continue;
            }
            // A second settle of one command finds it as the first has left it.
            let held = match before.replace(n) {
                Some(last) if last == n => position::read_free(group, &[n]).await?.pop(),
                _ => Some(held),
            };
            let held = held.unwrap_or(Held::NotOpen);
            settled[at] = Some(settle(group, &self.settles[at], held, parked).await?);
        }
        Ok(settled.into_iter().flatten().collect())
    }
}

/// Whether a decision of a stream issued the command.
fn is_of_stream(settle: &Settle) -> bool {
    settle.claimed.command.stream.is_some()
}

/// The lane of a settle's command, and what a parked one does to it.
fn lane(settle: &Settle) -> Option<(Lane<'_>, counterfoil_core::domain::contract::OnParked)> {
    let command = &settle.claimed.command;
    let key = command.ordering_key.as_ref()?.as_str();
    let lane = Lane { destination: command.destination.as_str(), key };
    Some((lane, settle.terms.contract.on_parked))
}

/// Settles one attempt that did not go plainly well, or whose delivery is not as it was claimed.
async fn settle(
    group: &mut Group<'_>,
    settle: &Settle,
    held: Held,
    parked: &mut Vec<ParkedNow>,
) -> Result<Settled, Failure> {
    let claimed = &settle.claimed;
    let subject = Subject {
        n: claimed.delivery.n,
        command_id: claimed.command.command_id.as_str(),
        destination: claimed.command.destination.as_str(),
        digests: Some((claimed.digest, claimed.row_digest)),
        started_at: Some(settle.started_at),
        lane: lane(settle).map(|(lane, on_parked)| (lane, Some(on_parked))),
        is_of_stream: is_of_stream(settle),
    };
    let stands = match held {
        Held::Ours(stands) => Some(*stands),
        Held::Others => return Ok(Settled::Held),
        Held::NotOpen => position::read_ended(group, subject.n).await?,
    };
    let Some(Stands { position: before, digests: stored, .. }) = stands else {
        return settle_archived(group, settle).await;
    };
    let input = input(settle, ended_as(group, claimed, &before).await?);
    // The attempt of another lease proves nothing about the row as it stands now.
    let is_own = matches!(&before, Position::Open(open) if open.token == claimed.delivery.token);
    // A late one tells of the newest attempt's row only where that one left nothing.
    let digests = if is_own { subject.digests.or(stored) } else { stored.or(subject.digests) };
    let subject = Subject { digests, ..subject };
    let next = if settle.depends_on_who_asked() && is_waited_for(group, claimed).await? {
        transition(&before, input, &settle.terms.for_workflow(), group.now)
    } else {
        transition(&before, input, &settle.terms, group.now)
    };
    if let Transition::Applied { next: Next::Open(next), .. } = &next
        && next.state.is_parked()
    {
        parked.push(parked_now(claimed, next));
    }
    Ok(match position::write(group, subject, &before, next).await? {
        Written::Open(state) => Settled::Open(state),
        Written::Ended(outcome) => Settled::Ended(outcome),
        Written::Contradicted => Settled::Contradicted,
        Written::Ignored(reason) | Written::Refused(reason) => Settled::Ignored(reason),
    })
}

/// A settle so late that nothing but a tombstone is left: `Completed` is the receiver's own word,
/// and kept beside it where it says otherwise.
async fn settle_archived(group: &Group<'_>, settle: &Settle) -> Result<Settled, Failure> {
    let ignored = Settled::Ignored(Reason::Ended);
    let Some(report) = settle.late_report() else { return Ok(ignored) };
    let command_id = settle.claimed.command.command_id.clone();
    let reporting = Reporting { store: group.store, command_id, report };
    let reported = reporting.take_archived(group).await?;
    Ok(if reported == Reported::Contradiction { Settled::Contradicted } else { ignored })
}

/// Whether the stream that issued the command is a workflow's.
async fn is_waited_for(group: &Group<'_>, claimed: &Claimed) -> Result<bool, Failure> {
    let Some(stream) = &claimed.command.stream else { return Ok(false) };
    Ok(group.tx.query_opt(STREAM_ROW, &[&stream.as_str()]).await?.is_some())
}

/// What the settle of a claimed command has parked.
fn parked_now(claimed: &Claimed, parked: &Delivery) -> ParkedNow {
    ParkedNow {
        command: claimed.command.command_id.to_string(),
        destination: claimed.command.destination.to_string(),
        kind: claimed.command.kind.to_string(),
        round: parked.round,
        in_doubt: parked.in_doubt,
        state: parked.state,
        reason: parked.last_outcome.clone().unwrap_or_default(),
    }
}

fn input(settle: &Settle, ended_as: Option<ReceiptOutcome>) -> Input {
    let (token, round) = (settle.claimed.delivery.token, settle.claimed.delivery.round);
    let (burns, seed) = (settle.burns, settle.seed);
    match &settle.ended {
        Ended::Outcome(outcome) => {
            let outcome = outcome.clone();
            Input::Settled { token, round, ended_as, outcome, burns, seed }
        }
        Ended::Answer(answer) => Input::Answered { token, answer: answer.clone(), seed },
        Ended::HandedBack => Input::HandedBack { token },
    }
}

/// The delivery without its texts, which a receipt does not take over.
fn without_words(delivery: &Delivery) -> Delivery {
    Delivery { lease_owner: None, last_outcome: None, ..delivery.clone() }
}

/// What the receipt of the attempt's own round says, where another round began since.
async fn ended_as(
    group: &Group<'_>,
    claimed: &Claimed,
    before: &Position,
) -> Result<Option<ReceiptOutcome>, Failure> {
    let round = claimed.delivery.round;
    let stands = match before {
        Position::Open(open) => open.round,
        Position::Ended(ended) => ended.round,
    };
    if stands <= round {
        return Ok(None);
    }
    let receipts = position::receipts(group, claimed.delivery.n).await?;
    Ok(receipts.iter().find(|receipt| receipt.round == round).map(|receipt| receipt.outcome))
}

/// Renews leases; gives those that are no longer their own, and those that others hold, which say
/// nothing yet.
pub(crate) async fn renew(group: &mut Group<'_>, renewals: &[Renew]) -> Result<Vec<i64>, Failure> {
    if renewals.is_empty() {
        return Ok(Vec::new());
    }
    let mut order: Vec<&Renew> = renewals.iter().collect();
    order.sort_unstable_by_key(|renew| renew.n);
    let numbers: Vec<i64> = order.iter().map(|renew| renew.n).collect();
    let (mut lost, mut last) = (Vec::new(), None);
    for (renew, held) in order.into_iter().zip(position::read_free(group, &numbers).await?) {
        let held = match last.replace(renew.n) {
            Some(last) if last == renew.n => position::read_free(group, &[last]).await?.pop(),
            _ => Some(held),
        };
        let stands = match held.unwrap_or(Held::NotOpen) {
            Held::Ours(stands) => stands,
            Held::Others => continue,
            Held::NotOpen => {
                lost.push(renew.n);
                continue;
            }
        };
        let Stands { position: before, destination, .. } = *stands;
        let renewed = Input::Renewed { token: renew.token };
        let next = transition(&before, renewed, &renew.terms, group.now);
        let subject = Subject::new(renew.n, "", &destination);
        if !matches!(position::write(group, subject, &before, next).await?, Written::Open(_)) {
            lost.push(renew.n);
        }
    }
    Ok(lost)
}
