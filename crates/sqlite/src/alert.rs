//! Records alerts: what is parked becomes a command of its own, where that is asked for.
//!
//! Guarantees: an alert is recorded in the transaction that parks, once a round of its command.
//! Does not: park, or tell a relay's observer.

use counterfoil_core::domain::{Delivery, Position};
use counterfoil_core::port::Announce;
use counterfoil_core::port::store::{Claimed, ParkedNow, Recorded};

use crate::enqueue;
use crate::group::Group;
use crate::position::{self, Stands};

/// What the settle of a claimed command has parked; `None` where it stands otherwise.
pub(crate) fn parked_now(
    group: &mut Group<'_>,
    claimed: &Claimed,
) -> rusqlite::Result<Option<ParkedNow>> {
    let Some(Stands { position: Position::Open(open), .. }) =
        position::read(group, claimed.delivery.n)?
    else {
        return Ok(None);
    };
    let Delivery { round, in_doubt, state, last_outcome, .. } = open;
    Ok(state.is_parked().then(|| ParkedNow {
        command: claimed.command.command_id.to_string(),
        destination: claimed.command.destination.to_string(),
        kind: claimed.command.kind.to_string(),
        round,
        in_doubt,
        state,
        reason: last_outcome.unwrap_or_default(),
    }))
}

/// Records an alert of each that is parked; how many are new. One whose id stands is nothing.
pub(crate) fn record<'a>(
    group: &mut Group<'_>,
    announce: Option<&Announce>,
    parked: impl IntoIterator<Item = &'a ParkedNow>,
) -> rusqlite::Result<usize> {
    let Some(announce) = announce else { return Ok(0) };
    let mut count = 0;
    for parked in parked {
        let Some(alert) = announce.alert(parked, group.now) else { continue };
        let recorded = enqueue::record_bare(group, &alert, usize::MAX)?;
        count += usize::from(recorded == Ok(Recorded::Recorded));
    }
    Ok(count)
}
