//! Ends what is past its expiry and was never sent, or puts it before its receiver or a person;
//! gives lanes their next turn; folds counts.
//!
//! Guarantees: with nothing to do it only reads; wherever a command is bound for, paused or
//! unserved, its stored contract decides; what others hold is left to a later sweep. Does not:
//! touch what is being sent or asked about, published, or parked.

use counterfoil_core::domain::{Input, Micros, Position, State, Terms, transition};
use counterfoil_core::port::Announce;
use counterfoil_core::port::store::{ParkedNow, Swept};

use crate::alert;
use crate::destination;
use crate::failure::Failure;
use crate::group::Group;
use crate::lane::{self, Lane};
use crate::position::{self, Stands, Subject, Written};
use crate::report::digests_of;
use crate::row;
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const LOOK: Statement = statement!("sweep_look");
const EXPIRED: Statement = statement!("delivery_expired");
const FOLD: Statement = statement!("tally_fold");

/// So many rows of the tally are left unfolded.
const TALLY_ROWS: i64 = 256;
/// So many are folded at once.
const FOLD_ROWS: i64 = 10_000;

/// One sweep.
pub(crate) struct Sweep<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) limit: usize,
    /// What announces that which it parks.
    pub(crate) announce: Option<Announce>,
}

/// A pending command past its expiry.
struct Expired {
    n: i64,
    command_id: String,
    expires_at: Micros,
    kind: String,
    is_of_stream: bool,
}

impl Work for Sweep<'_> {
    type Answer = Swept;

    async fn run(&self, tx: &Tx<'_>) -> Result<Swept, Failure> {
        let Some(look) = tx.query_opt(LOOK, &[&TALLY_ROWS]).await? else {
            return Ok(Swept::default());
        };
        let now = row::time(&look, 0).unwrap_or_default();
        let (has_expired, is_long) = (row::flag(&look, 1), row::flag(&look, 2));
        let has_notes = row::flag(&look, 3);
        if self.limit == 0 {
            return Ok(Swept { more: has_expired, ..Swept::default() });
        }
        self.store.told(now);
        let mut group = Group::at(tx, self.store, now);
        let mut swept = Swept::default();
        if has_expired {
            self.end_expired(&mut group, &mut swept).await?;
        }
        if has_notes {
            swept.promoted += lane::give_noted(&group, self.limit).await?.turns;
        }
        let stuck = self.store.lanes.look(tx, self.limit).await?;
        swept.promoted += lane::give(&group, &stuck).await?.turns;
        alert::record(&mut group, self.announce.as_ref(), &swept.parked).await?;
        group.flush().await?;
        if is_long {
            tx.execute(FOLD, &[&FOLD_ROWS]).await?;
        }
        Ok(swept)
    }

    /// A question is a relay's to ask, an alert one's to send; what expired may be a workflow's.
    fn wakes(&self, swept: &Swept) -> bool {
        (self.announce.is_some() && !swept.parked.is_empty())
            || swept.asking > 0
            || !swept.expired.is_empty()
            || swept.promoted > 0
    }
}

impl Sweep<'_> {
    async fn end_expired(&self, group: &mut Group<'_>, swept: &mut Swept) -> Result<(), Failure> {
        let most = i64::try_from(self.limit).unwrap_or(i64::MAX).saturating_add(1);
        let rows = group.tx.query(EXPIRED, &[&group.now.get(), &most]).await?;
        swept.more = rows.len() > self.limit;
        for row in rows.iter().take(self.limit) {
            let expired = Expired {
                n: row::int(row, 0).unwrap_or(0),
                command_id: row::string(row, 1).unwrap_or_default(),
                expires_at: row::time(row, 2).unwrap_or_default(),
                kind: row::string(row, 3).unwrap_or_default(),
                is_of_stream: row::flag(row, 4),
            };
            end(group, expired, swept).await?;
        }
        Ok(())
    }
}

async fn end(group: &mut Group<'_>, expired: Expired, swept: &mut Swept) -> Result<(), Failure> {
    let Expired { n, command_id, expires_at, kind, is_of_stream } = expired;
    let Some(stands) = position::read(group, n).await? else { return Ok(()) };
    let digests = digests_of(group, n, &stands).await?;
    let Stands { position: before, destination, ordering_key, .. } = stands;
    let terms = Terms::new(destination::stored(group, &destination).await?);
    let on_parked = Some(terms.contract.on_parked);
    let lane = |key| (Lane { destination: &destination, key }, on_parked);
    let lane = ordering_key.as_deref().map(lane);
    let subject = Subject::new(n, &command_id, &destination);
    let subject = Subject { digests, lane, is_of_stream, ..subject };
    let next = transition(&before, Input::Swept { expires_at }, &terms, group.now);
    match position::write(group, subject, &before, next).await? {
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
