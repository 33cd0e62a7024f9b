//! Ends what is past its expiry and was never sent, or puts it before its receiver or a person, and
//! gives the turn of lanes that a stranger's statement has freed.
//!
//! Guarantees: with nothing to do it only reads, and what is noted as freed is looked at first,
//! however many lanes there are; wherever a command is bound for, paused
//! or unserved, its stored contract decides; the lock is held no longer than a relay may. Does
//! not: touch what is being sent or asked about, published, or parked.

use std::sync::Arc;

use counterfoil_core::domain::{Input, Micros, Position, State, Terms, transition};
use counterfoil_core::port::Announce;
use counterfoil_core::port::store::{ParkedNow, Swept};
use rusqlite::{Connection, params};

use crate::alert;
use crate::destination;
use crate::group::Group;
use crate::lane::{self, Lane, LaneCursor};
use crate::member::Work;
use crate::position::{self, Stands, Subject, Written};
use crate::report::digests_of;
use crate::row;
use crate::sql::Sql;

/// So many are ended however long it takes, so that a slow machine makes progress too.
const FEW: usize = 64;

/// One sweep.
pub(crate) struct Sweep {
    pub(crate) limit: usize,
    /// What announces that which it parks.
    pub(crate) announce: Option<Announce>,
    /// Where the last sweep stopped among the lanes.
    pub(crate) lanes: Arc<LaneCursor>,
}

/// A pending command past its expiry.
struct Expired {
    n: i64,
    command_id: String,
    expires_at: Micros,
    kind: String,
    is_of_stream: bool,
}

impl Work for Sweep {
    type Answer = Swept;

    fn size(&self) -> usize {
        self.limit.saturating_mul(2)
    }

    fn is_relay(&self) -> bool {
        true
    }

    fn peek(&self, store: &Connection, now: Micros) -> rusqlite::Result<Option<Swept>> {
        let expired = store.prepare_cached(Sql::DeliveryIsExpired.text())?.exists([now.get()])?;
        let nothing = Swept { more: expired, ..Swept::default() };
        if self.limit == 0 {
            return Ok(Some(nothing));
        }
        let freed = store.prepare_cached(Sql::LaneFreedAny.text())?.exists([])?;
        let idle = !self.lanes.look(store, self.limit)? && !freed && !expired;
        Ok(idle.then_some(nothing))
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Swept> {
        let mut expired = read_expired(group, self.limit.saturating_add(1))?;
        let mut swept = Swept { more: expired.len() > self.limit, ..Swept::default() };
        expired.truncate(self.limit);
        for (done, expired) in expired.into_iter().enumerate() {
            if done >= FEW && group.is_long() {
                swept.more = true;
                break;
            }
            end(group, expired, &mut swept)?;
        }
        give_turns(group, self.limit, &mut swept)?;
        for stuck in self.lanes.stuck() {
            swept.promoted += usize::from(lane::turn(group, stuck.lane(), None)?);
        }
        alert::record(group, self.announce.as_ref(), &swept.parked)?;
        Ok(swept)
    }

    /// A question is a relay's to ask, and an alert one's to send.
    fn wakes(&self, swept: &Swept) -> bool {
        (self.announce.is_some() && !swept.parked.is_empty())
            || swept.asking > 0
            || swept.promoted > 0
    }
}

fn read_expired(group: &mut Group<'_>, limit: usize) -> rusqlite::Result<Vec<Expired>> {
    let now = group.now.get();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = group.sql(Sql::DeliveryExpired)?.query(params![now, limit])?;
    let mut expired = Vec::new();
    while let Some(row) = rows.next()? {
        expired.push(Expired {
            n: row::int(row, 0)?.unwrap_or(0),
            command_id: row::lossy(row, 1)?.unwrap_or_default(),
            expires_at: row::time(row, 2)?.unwrap_or_default(),
            kind: row::lossy(row, 3)?.unwrap_or_default(),
            is_of_stream: row.get(4)?,
        });
    }
    Ok(expired)
}

/// Looks at the lanes that strangers' statements have noted as freed, `limit` at a time; whatever
/// becomes of each, it is noted no more.
fn give_turns(group: &mut Group<'_>, limit: usize, swept: &mut Swept) -> rusqlite::Result<()> {
    let most = limit.saturating_add(1);
    loop {
        let freed = read_freed(group, most)?;
        let more = freed.len() == most;
        for (done, (destination, key)) in freed.iter().take(limit).enumerate() {
            if done >= FEW && group.is_long() {
                swept.more = true;
                return Ok(());
            }
            let lane = Lane { destination, key };
            swept.promoted += usize::from(lane::turn(group, lane, None)?);
            group.sql(Sql::LaneFreedRemove)?.execute(lane.name())?;
        }
        swept.more |= more;
        // Where none got its turn no other sweep comes at once, so this one goes on while it may.
        if !more || swept.promoted > 0 {
            return Ok(());
        }
    }
}

fn read_freed(group: &mut Group<'_>, limit: usize) -> rusqlite::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let name = |row: &rusqlite::Row<'_>| {
        Ok((row::stored(row, 0)?.unwrap_or_default(), row::stored(row, 1)?.unwrap_or_default()))
    };
    group.sql(Sql::LaneFreed)?.query_map([limit], name)?.collect()
}

fn end(group: &mut Group<'_>, expired: Expired, swept: &mut Swept) -> rusqlite::Result<()> {
    let Expired { n, command_id, expires_at, kind, is_of_stream } = expired;
    let Some(stands) = position::read(group, n)? else { return Ok(()) };
    let digests = digests_of(group, n, &stands)?;
    let Stands { position: before, destination, ordering_key, .. } = stands;
    let terms = Terms::new(destination::stored(group, &destination)?);
    let on_parked = Some(terms.contract.on_parked);
    let lane = |key| (Lane { destination: destination.as_bytes(), key }, on_parked);
    let lane = ordering_key.as_deref().map(lane);
    let subject = Subject::new(n, &command_id, &destination);
    let subject = Subject { digests, lane, is_of_stream, ..subject };
    let next = transition(&before, Input::Swept { expires_at }, &terms, group.now);
    match position::write(group, subject, &before, next)? {
        Written::Ended(_) => swept.expired.push((command_id, destination)),
        Written::Open(State::Asking) => swept.asking += 1,
        Written::Open(state) => {
            let Position::Open(open) = &before else { return Ok(()) };
            let (round, reason) = (open.round, ParkedNow::swept_reason(open));
            let command = command_id;
            // Nothing but doubt parks what is past its expiry.
            let in_doubt = true;
            let parked = ParkedNow { command, destination, kind, round, in_doubt, state, reason };
            swept.parked.push(parked);
        }
        Written::Contradicted | Written::Ignored(_) | Written::Refused(_) => {}
    }
    Ok(())
}
