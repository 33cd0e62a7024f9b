//! Records alerts: what is parked becomes a command of its own, where that is asked for.
//!
//! Guarantees: an alert is recorded in the transaction that parks, once a round of its command.
//! Does not: park, or tell a relay's observer.

use counterfoil_core::port::Announce;
use counterfoil_core::port::store::{ParkedNow, Recorded};

use crate::enqueue;
use crate::failure::Failure;
use crate::group::Group;

/// Records an alert of each that is parked; how many are new. One whose id stands is nothing.
pub(crate) async fn record(
    group: &mut Group<'_>,
    announce: Option<&Announce>,
    parked: &[ParkedNow],
) -> Result<usize, Failure> {
    let Some(announce) = announce else { return Ok(0) };
    let mut count = 0;
    for parked in parked {
        let Some(alert) = announce.alert(parked, group.now) else { continue };
        let recorded = enqueue::record_bare(group, &alert, usize::MAX).await?;
        count += usize::from(recorded == Ok(Recorded::Recorded));
    }
    Ok(count)
}
