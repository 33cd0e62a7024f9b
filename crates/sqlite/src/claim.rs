//! Claims what is due at a destination, and takes over, times out or parks what it meets there.
//!
//! Guarantees: the time is saved with each claim; a row that cannot be read, or whose body is over
//! the limit, parks itself and not its batch; the lock is held no longer than a relay may. Does
//! not: look at destinations that are paused or have another contract; see `exchange`.

use std::sync::Arc;

use counterfoil_core::domain::{
    Attempted, Delivery, Digest, Input, Micros, Next, OutboxRow, Position, Receipt, Seed, State,
    Transition, transition,
};
use counterfoil_core::port::store::{ClaimFrom, Claimed, Exchange, ParkedNow};
use rusqlite::params;

use crate::exchange::Written;
use crate::group::Group;
use crate::lane::{self, Lane};
use crate::position::{self, Subject};
use crate::row::{self, Unreadable, micros};
use crate::sql::Sql;

/// Steps that one look at a due delivery may take: a takeover and its claim are two.
const STEPS_MAX: u64 = 8;

/// So many are claimed however long it takes, so that a slow machine makes progress too.
const FEW: usize = 64;

/// Who looks for what.
pub(crate) struct Looking<'a> {
    pub(crate) exchange: &'a Exchange,
    pub(crate) from: &'a ClaimFrom,
    pub(crate) body_bytes_max: usize,
}

/// A due delivery with its command.
struct Due {
    delivery: Delivery,
    command: Result<OutboxRow, Broken>,
}

/// A command that cannot be sent, and why.
struct Broken {
    command_id: Vec<u8>,
    kind: String,
    why: Unreadable,
}

/// What one look at a due delivery came to.
enum Taken {
    Claimed,
    /// It ended, was parked or put off.
    Freed,
    Nothing,
}

/// Claims at most `limit` at the destination into `done`.
pub(crate) fn claim(
    group: &mut Group<'_>,
    looking: &Looking<'_>,
    limit: usize,
    done: &mut Written,
) -> rusqlite::Result<()> {
    let mut left = limit;
    loop {
        let mut due = read_due(group, looking, left.saturating_add(1))?;
        let more = due.len() > left;
        due.truncate(left);
        let mut freed = false;
        for due in due {
            let found = done.exchanged.parked.len() + done.exchanged.expired.len();
            let few = done.claimed.len() + found < FEW;
            if !few && group.is_long() {
                done.exchanged.more = true;
                return Ok(());
            }
            match take(group, looking, due, done)? {
                Taken::Claimed => left -= 1,
                Taken::Freed => freed = true,
                Taken::Nothing => {}
            }
        }
        // Those that ended, were parked or put off gave their places to others, and the turns of
        // their lanes; each look that frees none is the last.
        if !freed {
            done.exchanged.more |= more;
            return Ok(());
        }
    }
}

fn read_due(
    group: &mut Group<'_>,
    looking: &Looking<'_>,
    limit: usize,
) -> rusqlite::Result<Vec<Due>> {
    let now = group.now.get();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let destination = looking.from.destination.as_str();
    let mut rows = group.sql(Sql::DeliveryDue)?.query(params![destination, now, limit])?;
    let mut due = Vec::new();
    while let Some(row) = rows.next()? {
        let (delivery, known) = row::delivery(row, 0)?;
        let command = match (known, row::outbox(row, 15, looking.body_bytes_max)?) {
            (Ok(()), Ok(command)) if command.destination == looking.from.destination => Ok(command),
            (Ok(()), Ok(command)) => {
                let (to, kind) = (command.destination, command.kind.to_string());
                let why = format!("its outbox row is for {:?}, not for here", to.as_str());
                Err(Broken { command_id: command.command_id.to_string().into(), kind, why })
            }
            (Err(why), _) | (Ok(()), Err(why)) => {
                let unnamed = || format!("n={}", delivery.n).into_bytes();
                let command_id = row::bytes(row, 16)?.map_or_else(unnamed, <[u8]>::to_vec);
                Err(Broken { command_id, kind: row::lossy(row, 21)?.unwrap_or_default(), why })
            }
        };
        due.push(Due { delivery, command });
    }
    Ok(due)
}

/// A claimed command before its digests are known: whoever claims computes them after the commit,
/// not the one thread that all writers wait for.
pub(crate) struct Fresh {
    command: OutboxRow,
    delivery: Delivery,
    taken_over: bool,
}

impl Fresh {
    /// With its digests.
    pub(crate) fn claimed(self) -> Claimed {
        let Self { command, delivery, taken_over } = self;
        let (digest, row_digest) = digests(&command);
        Claimed { command: Arc::new(command), delivery, digest, row_digest, taken_over }
    }
}

/// SHA-256 of the body and of the row.
pub(crate) fn digests(command: &OutboxRow) -> (Digest, Digest) {
    let digest = Digest::of(&command.body);
    (digest, command.row_digest(digest))
}

/// Moves one due delivery on.
fn take(
    group: &mut Group<'_>,
    looking: &Looking<'_>,
    due: Due,
    done: &mut Written,
) -> rusqlite::Result<Taken> {
    let Due { delivery, command } = due;
    let command = match command {
        Ok(command) => command,
        Err(broken) => return park(group, looking, &delivery, broken, done).map(|()| Taken::Freed),
    };
    let moved = advance(&delivery, &command, looking, group.now);
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
            (Lane::of(destination, key.as_str()), Some(looking.from.terms.contract.on_parked))
        }),
        is_of_stream: command.stream.is_some(),
    };
    for attempted in &moved.attempted {
        position::insert_attempt(group, subject, attempted)?;
    }
    let next = match moved.end {
        Moved::Open(next) => next,
        Moved::Ended(receipt) => {
            return expire(group, subject, &delivery, &receipt, done).map(|()| Taken::Freed);
        }
        Moved::Not => return Ok(Taken::Nothing),
    };
    let is_claim = next.lease_until.is_some_and(|until| until > group.now);
    // What was pending may be claimed for a question, which is no send.
    let is_plain = (delivery.state, next.state) == (State::Pending, State::Sending);
    if is_claim && is_plain && moved.attempted.is_empty() {
        claim_plainly(group, &next)?;
    } else if !position::update(group, subject, &delivery, &next)? {
        return Ok(Taken::Nothing);
    }
    if is_claim {
        group.save_clock();
        done.claimed.push(Fresh { command, delivery: next, taken_over });
        return Ok(Taken::Claimed);
    }
    // Also where it is put off: one that a person sent back to before it goes first.
    position::give_turn(group, subject)?;
    if next.state.is_parked() {
        done.exchanged.parked.push(parked_now(&command, &next, group.now));
    }
    Ok(Taken::Freed)
}

/// Ends one that is merely due, which nothing but its expiry does.
fn expire(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    delivery: &Delivery,
    receipt: &Receipt,
    done: &mut Written,
) -> rusqlite::Result<()> {
    if position::end(group, delivery)? {
        position::insert_receipt(group, subject, receipt)?;
        position::give_turn(group, subject)?;
        done.exchanged.expired.push((subject.command_id.into(), subject.destination.into()));
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

fn claim_plainly(group: &mut Group<'_>, next: &Delivery) -> rusqlite::Result<()> {
    group.sql(Sql::DeliveryClaim)?.execute(params![
        next.n,
        next.attempts,
        micros(next.round_since),
        next.token.get(),
        micros(next.lease_until),
        next.lease_owner,
        micros(next.first_sent_at),
    ])?;
    Ok(())
}

/// What the steps of one look came to.
struct Advanced {
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
fn advance(
    delivery: &Delivery,
    command: &OutboxRow,
    looking: &Looking<'_>,
    now: Micros,
) -> Advanced {
    let mut done = Advanced { end: Moved::Not, attempted: Vec::new() };
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

fn park(
    group: &mut Group<'_>,
    looking: &Looking<'_>,
    delivery: &Delivery,
    broken: Broken,
    done: &mut Written,
) -> rusqlite::Result<()> {
    let position = Position::Open(delivery.clone());
    let input = Input::Unreadable { reason: broken.why.clone() };
    let Transition::Applied { next: Next::Open(next), .. } =
        transition(&position, input, &looking.from.terms, group.now)
    else {
        return Ok(());
    };
    position::park(group, &next)?;
    let key = position::read(group, next.n)?.and_then(|stands| stands.ordering_key);
    if let Some(key) = &key {
        let destination = looking.from.destination.as_str().as_bytes();
        let on_parked = Some(looking.from.terms.contract.on_parked);
        lane::turn(group, Lane { destination, key }, on_parked)?;
    }
    done.exchanged.parked.push(ParkedNow {
        command: String::from_utf8_lossy(&broken.command_id).into_owned(),
        destination: looking.from.destination.to_string(),
        kind: broken.kind,
        round: next.round,
        in_doubt: next.in_doubt,
        state: next.state,
        reason: next.last_outcome.unwrap_or(broken.why),
    });
    Ok(())
}
