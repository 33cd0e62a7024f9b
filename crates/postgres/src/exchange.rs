//! A relay's one short durable write: settles first, then renewals, then claims.
//!
//! Guarantees: what is claimed is durable before it is answered; settles and looks travel in one
//! round trip, claims and COMMIT in another; with nothing to settle and nothing due, nothing is
//! written. Does not: wait for another transaction.

use counterfoil_core::domain::State;
use counterfoil_core::port::store::{Exchange, Exchanged, Settled};
use futures_util::future::{join, try_join_all};

use crate::alert;
use crate::claim::{self, Taken};
use crate::failure::Failure;
use crate::group::Group;
use crate::settle::{Settling, renew};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

/// One exchange.
struct Exchanging<'a> {
    store: &'a Inner,
    exchange: Exchange,
}

/// What was written.
struct Done {
    exchanged: Exchanged,
    /// Something is due that this exchange did not look for.
    wakes: bool,
}

/// Settles, renews and claims; whether a relay of this process should look again.
pub(crate) async fn exchange(
    store: &Inner,
    exchange: Exchange,
) -> Result<(Exchanged, bool), Failure> {
    let work = Exchanging { store, exchange };
    let done = store.pool.transact(&work).await?;
    let wakes = work.wakes(&done);
    Ok((done.exchanged, wakes))
}

impl Work for Exchanging<'_> {
    type Answer = Done;

    async fn run(&self, tx: &Tx<'_>) -> Result<Done, Failure> {
        let Self { store, exchange } = self;
        let settling = Settling::new(store, &exchange.settles);
        let looks = exchange
            .claim_from
            .iter()
            .map(|from| claim::look(tx, store, from, from.limit.min(exchange.claim_limit)));
        // Settles are sent first, so that what they free may be found.
        let (ended, found) = join(settling.end_plain(tx), try_join_all(looks)).await;
        let (ended, found) = (ended?, found?);
        // These looks have seen the turns that plain settles gave.
        let mut early = tx.take_fresh();
        let mut group = match found.first() {
            Some(found) => {
                store.told(found.now);
                Group::at(tx, store, found.now)
            }
            None => Group::begin(tx, store).await?,
        };
        let mut done = Exchanged::default();
        let mut parked = Vec::new();
        done.settled = settling.end_others(&mut group, &ended, &mut parked).await?;
        done.lost = renew(&mut group, &exchange.renewals).await?;
        let mut taken = Taken::default();
        // What the other settles made due was not there yet when these looks were sent.
        let mut fresh = tx.take_fresh();
        for (from, mut found) in exchange.claim_from.iter().zip(found) {
            early.remove(from.destination.as_str());
            let mut is_fresh = fresh.remove(from.destination.as_str());
            loop {
                let before = taken.len();
                let most = from.limit.min(exchange.claim_limit);
                let left = most.min(exchange.claim_limit.saturating_sub(before));
                let both = (&mut taken, &mut done);
                claim::take(&mut group, (exchange, from), found, left, both).await?;
                // What ended, was parked or put off gave its place to others, and its lane's turn.
                let left = left.saturating_sub(taken.len() - before);
                let look_again = std::mem::take(&mut is_fresh) | taken.take_freed();
                if !look_again || left == 0 {
                    done.more |= look_again;
                    break;
                }
                // Else they would be found again.
                taken.write(tx, &exchange.owner).await?;
                found = claim::look_again(tx, store, from, left).await?;
            }
        }
        // Claims freed only what was looked at again.
        drop(tx.take_fresh());
        parked.extend(done.parked.iter().cloned());
        // Last, so that no alert is claimed by the exchange that made it.
        let alerts = alert::record(&mut group, exchange.announce.as_ref(), &parked).await?;
        group.flush().await?;
        done.claimed = taken.commit(tx, &exchange.owner).await?;
        let wakes = alerts > 0 || tx.has_input() || !fresh.is_empty() || !early.is_empty();
        Ok(Done { exchanged: done, wakes })
    }

    /// What was handed back or put off may be due for others, and so are alerts, and what was freed
    /// where this exchange claims nothing; and what a workflow waited for, for its runner.
    fn wakes(&self, done: &Done) -> bool {
        done.wakes || done.exchanged.settled.contains(&Settled::Open(State::Pending))
    }
}
