//! A relay's one short durable write: settles first, then renewals, then claims.
//!
//! Guarantees: settles are written in the order of `n`; what is claimed is durable before it is
//! answered; with nothing to settle and nothing due, nothing is written. Does not: wait for
//! foreign writers; see `commit_queue`.

use counterfoil_core::domain::{Micros, Reason, State};
use counterfoil_core::port::Patience;
use counterfoil_core::port::store::{Exchange, Exchanged, ParkedNow, Settled};
use rusqlite::{Connection, params};

use crate::alert;
use crate::claim::{Fresh, Looking, claim};
use crate::destination::{Admission, admission};
use crate::group::Group;
use crate::member::Work;
use crate::settle::{renew, settle};
use crate::sql::Sql;

/// How many settles one write takes; more are several writes, each short.
pub(crate) const SETTLES_MAX: usize = 256;

/// One exchange.
pub(crate) struct Exchanging {
    pub(crate) exchange: Exchange,
    pub(crate) body_bytes_max: usize,
    /// How long it may wait for something to be due.
    pub(crate) patience: Option<Patience>,
}

impl Exchanging {
    /// The exchange in parts, so that each holds the lock shortly; claims come with the last.
    pub(crate) fn parts(mut exchange: Exchange, body_bytes_max: usize) -> Vec<Self> {
        let mut parts = Vec::with_capacity(1);
        while exchange.settles.len() > SETTLES_MAX {
            let rest = exchange.settles.split_off(SETTLES_MAX);
            let settles = std::mem::replace(&mut exchange.settles, rest);
            let (seed, announce) = (exchange.seed, exchange.announce.clone());
            let part = Exchange { settles, seed, announce, ..Exchange::default() };
            parts.push(Self { exchange: part, body_bytes_max, patience: None });
        }
        parts.push(Self { exchange, body_bytes_max, patience: None });
        parts
    }
}

/// What an exchange wrote.
pub(crate) struct Written {
    pub(crate) exchanged: Exchanged,
    pub(crate) claimed: Vec<Fresh>,
    /// How many alerts were recorded.
    pub(crate) alerts: usize,
}

impl Written {
    /// All of it, with the digests of what was claimed.
    pub(crate) fn finish(self) -> Exchanged {
        let claimed = self.claimed.into_iter().map(Fresh::claimed).collect();
        Exchanged { claimed, ..self.exchanged }
    }
}

impl Work for Exchanging {
    type Answer = Written;

    fn size(&self) -> usize {
        let Exchange { settles, renewals, claim_limit, .. } = &self.exchange;
        settles.len().saturating_mul(2).saturating_add(renewals.len()).saturating_add(*claim_limit)
    }

    fn is_relay(&self) -> bool {
        true
    }

    fn peek(&self, store: &Connection, now: Micros) -> rusqlite::Result<Option<Written>> {
        let exchange = &self.exchange;
        if !exchange.settles.is_empty() || !exchange.renewals.is_empty() {
            return Ok(None);
        }
        let mut nothing = Exchanged::default();
        for from in &exchange.claim_from {
            let mut row = store.prepare_cached(Sql::DestinationRow.text())?;
            match admission(&mut row, &from.destination, &from.terms.contract)? {
                Admission::Differs => nothing.differing.push(from.destination.clone()),
                Admission::Paused => {}
                Admission::Open => {
                    let mut due = store.prepare_cached(Sql::DeliveryIsDue.text())?;
                    if due.exists(params![from.destination.as_str(), now.get()])? {
                        if from.limit > 0 && exchange.claim_limit > 0 {
                            return Ok(None);
                        }
                        nothing.more = true;
                    }
                }
            }
        }
        Ok(Some(Written { exchanged: nothing, claimed: Vec::new(), alerts: 0 }))
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Written> {
        let exchange = &self.exchange;
        self.patience.iter().for_each(Patience::claims);
        let settled = settle_all(group, exchange)?;
        let mut parked = Vec::new();
        if exchange.announce.is_some() {
            parked = parked_by(group, exchange, &settled)?;
        }
        let exchanged = Exchanged { settled, ..Exchanged::default() };
        let mut done = Written { exchanged, claimed: Vec::new(), alerts: 0 };
        for lease in &exchange.renewals {
            if !renew(group, lease)? {
                done.exchanged.lost.push(lease.n);
            }
        }
        for from in &exchange.claim_from {
            let row = group.sql(Sql::DestinationRow)?;
            match admission(row, &from.destination, &from.terms.contract)? {
                Admission::Differs => done.exchanged.differing.push(from.destination.clone()),
                Admission::Paused => {}
                Admission::Open => {
                    let limit =
                        from.limit.min(exchange.claim_limit.saturating_sub(done.claimed.len()));
                    let body_bytes_max = self.body_bytes_max;
                    let looking = Looking { exchange, from, body_bytes_max };
                    claim(group, &looking, limit, &mut done)?;
                }
            }
        }
        // Last, so that no alert is claimed by the exchange that made it.
        let parked = parked.iter().chain(&done.exchanged.parked);
        done.alerts = alert::record(group, exchange.announce.as_ref(), parked)?;
        Ok(done)
    }

    fn patience(&self) -> Option<&Patience> {
        self.patience.as_ref()
    }

    fn is_nothing(&self, answer: &Written) -> bool {
        answer.exchanged == Exchanged::default()
    }

    /// What was handed back or put off may be due for others, and so are alerts.
    fn wakes(&self, answer: &Written) -> bool {
        answer.alerts > 0 || answer.exchanged.settled.contains(&Settled::Open(State::Pending))
    }
}

fn settle_all(group: &mut Group<'_>, exchange: &Exchange) -> rusqlite::Result<Vec<Settled>> {
    let settles = &exchange.settles;
    let mut order: Vec<usize> = (0..settles.len()).collect();
    order.sort_by_key(|&at| settles[at].claimed.delivery.n);
    let mut settled = vec![Settled::Ignored(Reason::StaleToken); settles.len()];
    for at in order {
        settled[at] = settle(group, &settles[at])?;
    }
    Ok(settled)
}

/// What the settles have parked, in the order of `n`.
fn parked_by(
    group: &mut Group<'_>,
    exchange: &Exchange,
    settled: &[Settled],
) -> rusqlite::Result<Vec<ParkedNow>> {
    let is_parked =
        |settled: &Settled| matches!(settled, Settled::Open(state) if state.is_parked());
    let both = exchange.settles.iter().zip(settled);
    let claimed = both.filter(|(_, settled)| is_parked(settled)).map(|(settle, _)| &settle.claimed);
    let mut claimed: Vec<_> = claimed.collect();
    claimed.sort_unstable_by_key(|claimed| claimed.delivery.n);
    let mut parked = Vec::with_capacity(claimed.len());
    for claimed in claimed {
        parked.extend(alert::parked_now(group, claimed)?);
    }
    Ok(parked)
}
