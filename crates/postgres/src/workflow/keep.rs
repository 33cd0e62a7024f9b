//! The upkeep of inputs that no program is served: adopts, expires, and sets aside.
//!
//! Guarantees: all that are aside are looked at in turn, a few at a time; with nothing to do it
//! only reads; it waits for nobody; what is taken away is recorded. Does not: take away what waits
//! for a workflow that stands, nor a start.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use counterfoil_core::domain::Span;
use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::port::workflow::{EXPIRE_ACTOR, EXPIRE_VERB, Kept, expire_reason};
use futures_util::future::try_join_all;
use tokio_postgres::Row;

use super::due::texts;
use super::ended;
use crate::failure::Failure;
use crate::group::Group;
use crate::pause::{Action, insert_action};
use crate::row::{flag, string, text, time};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const ASIDE: Statement = statement!("input_aside");
const ADDRESS: Statement = statement!("input_address");
const EXPIRE: Statement = statement!("input_expire");

/// So many that are not where they should be are remembered; the rest is met again.
const NOTED_MAX: usize = 1000;

/// Stream and id of an input.
pub(super) type Key = (String, String);

/// Where a store's upkeep is among the inputs, and what reads have met that should wait elsewhere.
#[derive(Default)]
pub(crate) struct InputCursor(Mutex<Place>);

#[derive(Default)]
struct Place {
    after: Key,
    /// Each with whether it can be read.
    noted: BTreeMap<Key, bool>,
    /// Among those that wait for a program: the last one's, and its arrival.
    served_to: (String, i64),
    /// What has come to workflows that have ended.
    ended: BTreeSet<Key>,
}

impl InputCursor {
    /// An input cannot be read, or waits for somebody else by now: the next upkeep sees to it.
    pub(super) fn note(&self, input: Key, is_readable: bool) {
        let mut place = self.lock();
        if place.noted.len() < NOTED_MAX {
            place.noted.insert(input, is_readable);
        }
    }

    /// Where the upkeep is among those that wait for a program.
    pub(super) fn served_to(&self) -> (String, i64) {
        self.lock().served_to.clone()
    }

    /// So far it has come, and has met these of workflows that have ended.
    pub(super) fn met(&self, served_to: (String, i64), ended: Vec<Key>) {
        let mut place = self.lock();
        place.served_to = served_to;
        let room = NOTED_MAX.saturating_sub(place.ended.len());
        place.ended.extend(ended.into_iter().take(room));
    }

    /// Those that were met.
    pub(super) fn ended(&self) -> Vec<Key> {
        self.lock().ended.iter().cloned().collect()
    }

    /// Some of those that were met are given, or, without more, all of them.
    pub(super) fn given(&self, given: &[Key], more: bool) {
        let mut place = self.lock();
        place.ended.retain(|key| more && !given.contains(key));
    }

    fn lock(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One upkeep.
pub(crate) struct Keep<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) limit: usize,
    pub(crate) orphans_after: Span,
}

/// What a page of inputs that are aside has for an upkeep to do.
#[derive(Default)]
struct Page {
    adopt: Vec<Key>,
    expire: Vec<Key>,
    /// The last that was looked at, if more may stand behind it.
    last: Option<Key>,
}

impl Work for Keep<'_> {
    type Answer = Kept;

    async fn run(&self, tx: &Tx<'_>) -> Result<Kept, Failure> {
        let (after, noted) = {
            let place = self.store.inputs.lock();
            let noted = place.noted.iter().take(self.limit);
            let noted = noted.map(|(key, readable)| (key.clone(), *readable));
            (place.after.clone(), noted.collect::<Vec<_>>())
        };
        let group = Group::begin(tx, self.store).await?;
        let page = self.look(&group, &after).await?;
        let mut kept = Kept { adopted: self.adopt(tx, &page, &noted).await?, ..Kept::default() };
        kept.expired = self.expire(&group, &page.expire).await?;
        kept.ended = ended::meet(tx, &self.store.inputs, self.limit).await?;
        let mut place = self.store.inputs.lock();
        for (key, _) in &noted {
            place.noted.remove(key);
        }
        kept.more = page.last.is_some() || !place.noted.is_empty();
        place.after = page.last.unwrap_or_default();
        Ok(kept)
    }

    /// What it wrote is written again without harm, and what it took away is gone.
    async fn look_again(&self, tx: &Tx<'_>) -> Result<Option<Kept>, Failure> {
        self.run(tx).await.map(Some)
    }

    fn wakes(&self, kept: &Kept) -> bool {
        kept.adopted > 0
    }
}

impl Keep<'_> {
    async fn look(&self, group: &Group<'_>, after: &Key) -> Result<Page, Failure> {
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        let rows = group.tx.query(ASIDE, &[&after.0, &after.1, &limit]).await?;
        let mut page = Page::default();
        for row in &rows {
            if is_adopted(row) {
                page.adopt.push(key(row));
            } else if self.is_expired(row, group) {
                page.expire.push(key(row));
            }
        }
        if rows.len() >= self.limit {
            page.last = rows.last().map(key);
        }
        Ok(page)
    }

    fn is_expired(&self, row: &Row, group: &Group<'_>) -> bool {
        let is_start = text(row, 2) == Some(InputKind::Start.name());
        let has_workflow = text(row, 6).is_some();
        let is_old = time(row, 5).is_some_and(|at| at.plus(self.orphans_after) <= group.now);
        !is_start && !has_workflow && !flag(row, 8) && is_old
    }

    /// Gives inputs to whom they wait for by now; how many wait for somebody then.
    async fn adopt(
        &self,
        tx: &Tx<'_>,
        page: &Page,
        noted: &[(Key, bool)],
    ) -> Result<usize, Failure> {
        let mut all: BTreeMap<&Key, bool> = page.adopt.iter().map(|key| (key, true)).collect();
        all.extend(noted.iter().map(|(key, readable)| (key, *readable)));
        if all.is_empty() {
            return Ok(0);
        }
        let streams: Vec<&str> = all.keys().map(|key| key.0.as_str()).collect();
        let ids: Vec<&str> = all.keys().map(|key| key.1.as_str()).collect();
        let readable: Vec<bool> = all.values().copied().collect();
        let moved = tx.query(ADDRESS, &[&streams, &ids, &readable]).await?;
        let adopted = moved.iter().filter(|row| flag(row, 0)).count();
        if adopted > 0 {
            tx.has_news();
        }
        Ok(adopted)
    }

    /// Takes orphans away that are still too old; how many.
    async fn expire(&self, group: &Group<'_>, keys: &[Key]) -> Result<usize, Failure> {
        if keys.is_empty() {
            return Ok(0);
        }
        let streams: Vec<&str> = keys.iter().map(|key| key.0.as_str()).collect();
        let ids: Vec<&str> = keys.iter().map(|key| key.1.as_str()).collect();
        let until = group.now.get().saturating_sub(self.orphans_after.as_micros());
        let gone = group.tx.query(EXPIRE, &[&streams, &ids, &until]).await?;
        let said = |row: &Row| {
            let at = |at| string(row, at).unwrap_or_default();
            (at(0), expire_reason(&at(1), &at(2), &at(3)))
        };
        let said: Vec<(String, String)> = gone.iter().map(said).collect();
        try_join_all(said.iter().map(|(stream, why)| async move {
            let action = Action { verb: EXPIRE_VERB, about: stream, actor: EXPIRE_ACTOR };
            insert_action(group, &action, Some(why), (Some("waiting"), "gone")).await
        }))
        .await?;
        Ok(gone.len())
    }
}

fn key(row: &Row) -> Key {
    (string(row, 0).unwrap_or_default(), string(row, 1).unwrap_or_default())
}

/// Whether it can be read, and waits for somebody by now.
fn is_adopted(row: &Row) -> bool {
    texts(row).is_some() && text(row, 7).is_some()
}
