//! Claims what is due at a destination, and takes over, times out or parks what it meets there.
//!
//! Guarantees: what others hold is passed over; a row that cannot be used, or whose body is over
//! the limit, parks itself and not its batch. Does not: claim where the destination is paused or
//! has another contract.

use std::sync::Arc;

use counterfoil_core::domain::{
    Attempted, Delivery, Digest, Input, Micros, Next, OutboxRow, Position, Receipt, Seed, State,
    Transition, transition,
};
use counterfoil_core::port::store::{ClaimFrom, Claimed, Exchange, Exchanged, ParkedNow};
use futures_util::future::join;
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::group::Group;
use crate::lane::{self, Lane};
use crate::position::{self, Subject, int};
use crate::row::{self, Unreadable, micros};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;

const DELIVERY_DUE: Statement = statement!("delivery_due");
const DELIVERY_CLAIM: Statement = statement!("delivery_claim");
const DELIVERY_CLAIM_ALIKE: Statement = statement!("delivery_claim_alike");

/// Steps that one look at a due delivery may take: a takeover and its claim are two.
const STEPS_MAX: u64 = 8;
/// What a look at one destination found.
pub(crate) struct Found {
    rows: Vec<Row>,
    /// The server's time.
    pub(crate) now: Micros,
    /// The destination's row says another contract than ours; there is none where it says none.
    differing: Option<Option<String>>,
    /// Enough others look there now, so that this look did not.
    crowded: bool,
    limit: usize,
}

/// Looks for what is due at the destination, `limit` at most and one more, and holds it.
pub(crate) async fn look(
    tx: &Tx<'_>,
    store: &Inner,
    from: &ClaimFrom,
    limit: usize,
) -> Result<Found, Failure> {
    let (destination, now) = (from.destination.as_str(), store.now());
    let floor = store.pool.floors.of(destination, now);
    let insists = store.pool.crowd.insists(destination, now);
    look_from(tx, store, (from, floor, insists), limit).await
}

/// The same from the beginning: this very transaction made something due.
pub(crate) async fn look_again(
    tx: &Tx<'_>,
    store: &Inner,
    from: &ClaimFrom,
    limit: usize,
) -> Result<Found, Failure> {
    look_from(tx, store, (from, i64::MIN, true), limit).await
}

async fn look_from(
    tx: &Tx<'_>,
    store: &Inner,
    (from, floor, insists): (&ClaimFrom, i64, bool),
    limit: usize,
) -> Result<Found, Failure> {
    let destination = from.destination.as_str();
    let contract = store.agreed.text(&from.destination, &from.terms.contract);
    let most = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let bytes = i64::try_from(store.body_bytes_max()).unwrap_or(i64::MAX);
    let params: [&dyn crate::param::Param; 6] =
        [&destination, &contract, &floor, &most, &bytes, &insists];
    let mut rows = tx.query(DELIVERY_DUE, &params).await?;
    let now = rows.first().and_then(|row| row::time(row, 30)).unwrap_or_default();
    let differing = rows.first().and_then(|row| {
        let has_row = row.try_get::<_, Option<bool>>(31).ok().flatten().is_some();
        let text = row::string(row, 32);
        (text.is_some() || !has_row).then_some(text)
    });
    let let_in = rows.first().is_some_and(|row| row::flag(row, 34));
    store.pool.crowd.told(destination, let_in, store.now());
    rows.retain(|row| row::int(row, 0).is_some());
    Ok(Found { rows, now, differing, crowded: !let_in && !insists, limit })
}

/// A claim before its digests are known, and what the plain claims of one exchange write at once.
#[derive(Default)]
pub(crate) struct Taken {
    claimed: Vec<(OutboxRow, Delivery, bool)>,
    plain: Vec<Delivery>,
    /// A destination's rows were freed for others: look again.
    freed: bool,
}

impl Taken {
    pub(crate) fn len(&self) -> usize {
        self.claimed.len()
    }

    /// Whether something ended, was parked or put off since the last question.
    pub(crate) fn take_freed(&mut self) -> bool {
        std::mem::take(&mut self.freed)
    }

    /// Writes the plain claims that are not written yet.
    pub(crate) async fn write(&mut self, tx: &Tx<'_>, owner: &str) -> Result<(), Failure> {
        write_plain(tx, std::mem::take(&mut self.plain), owner).await
    }

    /// Writes them and commits; gives what was claimed. Its digests are computed while the server
    /// writes: first what is asked of it leaves.
    pub(crate) async fn commit(
        mut self,
        tx: &Tx<'_>,
        owner: &str,
    ) -> Result<Vec<Claimed>, Failure> {
        let plain = std::mem::take(&mut self.plain);
        let finished = async {
            tokio::task::yield_now().await;
            self.finish()
        };
        let (committed, claimed) =
            join(tx.commit_with(write_plain(tx, plain, owner)), finished).await;
        committed.map(|()| claimed)
    }

    /// What was claimed, with its digests.
    fn finish(self) -> Vec<Claimed> {
        let claimed = |(command, delivery, taken_over): (OutboxRow, Delivery, bool)| {
            let (digest, row_digest) = digests(&command);
            Claimed { command: Arc::new(command), delivery, digest, row_digest, taken_over }
        };
        self.claimed.into_iter().map(claimed).collect()
    }
}

/// Writes plain claims of pending commands.
async fn write_plain(tx: &Tx<'_>, plain: Vec<Delivery>, owner: &str) -> Result<(), Failure> {
    let Some(first) = plain.first() else { return Ok(()) };
    let numbers: Vec<i64> = plain.iter().map(|one| one.n).collect();
    let said = |one: &Delivery| {
        let (token, attempts) = (one.token.get(), int(one.attempts));
        let times = [one.round_since, one.lease_until, one.first_sent_at].map(micros);
        (token, attempts, times)
    };
    let alike = said(first);
    if plain.iter().all(|one| said(one) == alike) {
        let (token, attempts, [since, lease, sent]) = alike;
        let params: [&dyn crate::param::Param; 7] =
            [&numbers, &attempts, &since, &token, &lease, &sent, &owner];
        return tx.execute(DELIVERY_CLAIM_ALIKE, &params).await;
    }
    let attempts: Vec<i32> = plain.iter().map(|one| int(one.attempts)).collect();
    let since: Vec<Option<i64>> = plain.iter().map(|one| micros(one.round_since)).collect();
    let tokens: Vec<i64> = plain.iter().map(|one| one.token.get()).collect();
    let leases: Vec<Option<i64>> = plain.iter().map(|one| micros(one.lease_until)).collect();
    let sent: Vec<Option<i64>> = plain.iter().map(|one| micros(one.first_sent_at)).collect();
    tx.execute(DELIVERY_CLAIM, &[&numbers, &attempts, &since, &tokens, &leases, &sent, &owner])
        .await
}

/// Moves on what was found, `left` claims at most.
pub(crate) async fn take(
    group: &mut Group<'_>,
    (exchange, from): (&Exchange, &ClaimFrom),
    found: Found,
    left: usize,
    (taken, done): (&mut Taken, &mut Exchanged),
) -> Result<(), Failure> {
    let store = group.store;
    if let Some(stored) = &found.differing {
        let contract = &from.terms.contract;
        let learnt = |stored: &String| store.agreed.learn(&from.destination, contract, stored);
        if stored.as_ref().is_some_and(learnt) {
            done.more = true;
        } else if !done.differing.contains(&from.destination) {
            done.differing.push(from.destination.clone());
        }
        return Ok(());
    }
    done.crowded |= found.crowded;
    let limit = found.limit.min(left);
    done.more |= found.rows.len() > limit;
    let looking = Looking { exchange, from };
    for row in found.rows.iter().take(limit) {
        let (delivery, known) = row::delivery(row, 0);
        if let Some(due) = delivery.available_at {
            store.pool.floors.raise(from.destination.as_str(), due.get());
        }
        match known.and_then(|()| command(row, store.body_bytes_max())) {
            Ok(command) => advance(group, &looking, delivery, command, (taken, done)).await?,
            Err(why) => {
                taken.freed |= park(group, &looking, &delivery, (row, why), done).await?;
            }
        }
    }
    Ok(())
}

/// The command; a body over the limit has not travelled, so that many such do not fill the memory.
fn command(row: &Row, body_bytes_max: usize) -> Result<OutboxRow, Unreadable> {
    match row::int(row, 33) {
        Some(len) => Err(format!("its body has {len} bytes, more than body_bytes_max")),
        None => row::outbox(row, 15, body_bytes_max),
    }
}

/// Who looks for what.
struct Looking<'a> {
    exchange: &'a Exchange,
    from: &'a ClaimFrom,
}

/// SHA-256 of the body and of the row.
fn digests(command: &OutboxRow) -> (Digest, Digest) {
    let digest = Digest::of(&command.body);
    (digest, command.row_digest(digest))
}

/// Moves one due delivery on.
async fn advance(
    group: &mut Group<'_>,
    looking: &Looking<'_>,
    delivery: Delivery,
    command: OutboxRow,
    (taken, done): (&mut Taken, &mut Exchanged),
) -> Result<(), Failure> {
    let moved = judge(&delivery, &command, looking, group.now);
    let taken_over = delivery.lease_until.is_some();
    let ends_sent = matches!(moved.end, Moved::Ended(_)) && delivery.attempts > 0;
    let subject = Subject {
        n: delivery.n,
        command_id: command.command_id.as_str(),
        destination: command.destination.as_str(),
        // By whatever ends an attempt, or what was attempted; a plain claim ends neither.
        digests: (taken_over || ends_sent).then(|| digests(&command)),
        started_at: None,
        lane: command.ordering_key.as_ref().map(|key| {
            let destination = command.destination.as_str();
            (Lane { destination, key: key.as_str() }, Some(looking.from.terms.contract.on_parked))
        }),
        is_of_stream: command.stream.is_some(),
    };
    for attempted in &moved.attempted {
        position::insert_attempt(group, subject, attempted).await?;
    }
    let next = match moved.end {
        Moved::Open(next) => next,
        Moved::Ended(receipt) => {
            taken.freed = true;
            return expire(group, subject, (&delivery, &receipt), done).await;
        }
        Moved::Not => return Ok(()),
    };
    let is_claim = next.lease_until.is_some_and(|until| until > group.now);
    // What was pending may be claimed for a question, which is no send.
    let is_plain = (delivery.state, next.state) == (State::Pending, State::Sending);
    if is_claim && is_plain && moved.attempted.is_empty() {
        taken.plain.push(next.clone());
    } else if !position::update(group, subject, &delivery, &next).await? {
        return Ok(());
    }
    if is_claim {
        taken.claimed.push((command, next, taken_over));
        return Ok(());
    }
    taken.freed = true;
    // Also where it is put off: one that a person sent back to before it goes first.
    position::give_turn(group, subject).await?;
    if next.state.is_parked() {
        done.parked.push(parked_now(&command, &next, group.now));
    }
    Ok(())
}

/// Ends it: nothing but its expiry ends a command that is merely due.
async fn expire(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    (delivery, receipt): (&Delivery, &Receipt),
    done: &mut Exchanged,
) -> Result<(), Failure> {
    if position::end(group, delivery).await? {
        position::insert_receipt(group, subject, receipt).await?;
        position::give_turn(group, subject).await?;
        done.expired.push((subject.command_id.to_owned(), subject.destination.to_owned()));
    }
    Ok(())
}

fn parked_now(command: &OutboxRow, parked: &Delivery, now: Micros) -> ParkedNow {
    ParkedNow {
        command: command.command_id.to_string(),
        destination: command.destination.to_string(),
        kind: command.kind.to_string(),
        round: parked.round,
        in_doubt: parked.in_doubt,
        state: parked.state,
        reason: ParkedNow::due_reason(parked, command.expires_at, now),
    }
}

/// What the steps of one look came to.
struct Judged {
    end: Moved,
    attempted: Vec<Attempted>,
}

enum Moved {
    Open(Delivery),
    Ended(Receipt),
    /// Nothing was to be done.
    Not,
}

/// Lets the state machine look again and again, until it is claimed, parked, put off or ended.
fn judge(delivery: &Delivery, command: &OutboxRow, looking: &Looking<'_>, now: Micros) -> Judged {
    let mut done = Judged { end: Moved::Not, attempted: Vec::new() };
    let mut position = Position::Open(delivery.clone());
    let seed = looking.exchange.seed.wrapping_add(delivery.n.unsigned_abs());
    for step in 0..STEPS_MAX {
        let seed = Seed(seed.wrapping_add(step));
        let owner = looking.exchange.owner.clone();
        let input = Input::Due { owner, expires_at: command.expires_at, seed };
        let Transition::Applied { next, attempted } =
            transition(&position, input, &looking.from.terms, now)
        else {
            break;
        };
        done.attempted.extend(attempted);
        match next {
            Next::Open(next) if next.available_at.is_some_and(|at| at <= now) => {
                position = Position::Open(next.clone());
                done.end = Moved::Open(next);
            }
            Next::Open(next) => {
                done.end = Moved::Open(next);
                break;
            }
            Next::Ended(receipt) => {
                done.end = Moved::Ended(receipt);
                break;
            }
            Next::Contradicted(_) => break,
        }
    }
    done
}

/// Parks a command that cannot be sent; whether it did.
async fn park(
    group: &Group<'_>,
    looking: &Looking<'_>,
    delivery: &Delivery,
    (row, why): (&Row, Unreadable),
    done: &mut Exchanged,
) -> Result<bool, Failure> {
    let position = Position::Open(delivery.clone());
    let input = Input::Unreadable { reason: why.clone() };
    let terms = &looking.from.terms;
    let Transition::Applied { next: Next::Open(next), .. } =
        transition(&position, input, terms, group.now)
    else {
        return Ok(false);
    };
    position::park(group, &next).await?;
    let stands = position::read(group, next.n).await?;
    if let Some(key) = stands.as_ref().and_then(|stands| stands.ordering_key.as_deref()) {
        let destination = looking.from.destination.as_str();
        let on_parked = Some(terms.contract.on_parked);
        lane::turn(group, Lane { destination, key }, on_parked).await?;
    }
    done.parked.push(ParkedNow {
        command: row::string(row, 16).unwrap_or_else(|| format!("n={}", next.n)),
        destination: looking.from.destination.to_string(),
        kind: row::string(row, 21).unwrap_or_default(),
        round: next.round,
        in_doubt: next.in_doubt,
        state: next.state,
        reason: next.last_outcome.unwrap_or(why),
    });
    Ok(true)
}
