//! Takes the bodies of archived events out of their rows, and puts them back.
//!
//! Guarantees: a body leaves only a row that stands exactly as it was read, and file and digest
//! come in the same write; it comes back only if it has that digest; the lock is held no longer
//! than a relay may. Does not: take what its workflow may need.

use std::sync::Arc;

use counterfoil_core::domain::{ArchivedBody, Digest, EventRow, Stream};
use counterfoil_core::port::Actor;
use counterfoil_core::port::bodies::RECALL_VERB;
use counterfoil_core::port::store::StoreError;
use rusqlite::{Connection, params};

use crate::commit_queue::CommitQueue;
use crate::erasure;
use crate::group::Group;
use crate::member::Work;
use crate::pause::{Action, insert_action};
use crate::read::bodies::at;
use crate::row::{Bytes32, Shown};
use crate::sql::Sql;

/// So many are taken however long it takes, so that a slow machine makes progress too.
const FEW: usize = 4;

/// An event as it was read, and where its body will lie.
type Leaving = (EventRow, ArchivedBody);

/// Bodies to be taken, from one of them on.
struct Take {
    events: Arc<[Leaving]>,
    from: usize,
}

/// Takes the bodies in as many short writes as it takes.
pub(crate) async fn take(
    queue: &CommitQueue,
    file: &str,
    events: Vec<EventRow>,
) -> Result<Vec<bool>, StoreError> {
    let file = file.to_owned();
    // Bodies are long; tasks' threads, and the lock, have more to do.
    let digesting = tokio::task::spawn_blocking(move || {
        let leaving = |event: EventRow| {
            let digest = Some(Digest::of(&event.body));
            (event, ArchivedBody { file: file.clone(), digest })
        };
        events.into_iter().map(leaving).collect::<Arc<[Leaving]>>()
    });
    let failed = |error| StoreError::Broken(format!("the digests of bodies: {error}"));
    let events = digesting.await.map_err(failed)?;
    let mut taken = Vec::with_capacity(events.len());
    while taken.len() < events.len() {
        let part = Take { events: Arc::clone(&events), from: taken.len() };
        taken.extend(queue.commit(part).await?);
    }
    Ok(taken)
}

impl Work for Take {
    type Answer = Vec<bool>;

    fn size(&self) -> usize {
        self.events.len() - self.from
    }

    fn is_relay(&self) -> bool {
        true
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Vec<bool>> {
        erasure::overwrite(group.connection, true)?;
        let taken = self.take(group);
        // Whatever came of it: for other work it costs too much.
        erasure::overwrite(group.connection, false)?;
        taken
    }

    fn stands(&self, store: &Connection, taken: &Vec<bool>) -> rusqlite::Result<Option<bool>> {
        for ((event, archived), _) in self.events[self.from..].iter().zip(taken).filter(|it| *it.1)
        {
            let stands = at(store, event.stream.as_str(), event.seq)?;
            if stands.and_then(|event| event.archived).as_ref() != Some(archived) {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }
}

impl Take {
    fn take(&self, group: &mut Group<'_>) -> rusqlite::Result<Vec<bool>> {
        let mut taken = Vec::new();
        for (event, archived) in &self.events[self.from..] {
            if taken.len() >= FEW && group.is_long() {
                break;
            }
            let stream = event.stream.as_str();
            let is_here = event.archived.is_none();
            if !is_here || at(group.connection, stream, event.seq)?.as_ref() != Some(event) {
                taken.push(false);
                continue;
            }
            let digest = Bytes32(archived.digest);
            let leaves = params![stream, event.seq, archived.file, digest];
            taken.push(group.sql(Sql::BodyTake)?.execute(leaves)? == 1);
        }
        Ok(taken)
    }
}

/// Bodies of one stream that come back, in one write.
pub(crate) struct PutBack {
    pub(crate) stream: Stream,
    pub(crate) events: Vec<EventRow>,
    pub(crate) actor: Actor,
}

impl Work for PutBack {
    type Answer = Vec<bool>;

    fn size(&self) -> usize {
        self.events.len() + 1
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Vec<bool>> {
        let stream = self.stream.as_str();
        let mut back = Vec::with_capacity(self.events.len());
        for event in &self.events {
            let is_ours = event.archived.is_none() && event.stream == self.stream;
            let digest = Bytes32(Some(Digest::of(&event.body)));
            let comes = params![stream, event.seq, Shown(&event.body), digest];
            back.push(is_ours && group.sql(Sql::BodyBack)?.execute(comes)? == 1);
        }
        if back.contains(&true) {
            let action = Action { verb: RECALL_VERB, about: stream, actor: &self.actor.name };
            let reason = Some(self.actor.reason.as_str()).filter(|reason| !reason.is_empty());
            insert_action(group, &action, reason, (Some("archived"), "here"))?;
        }
        Ok(back)
    }

    fn stands(&self, store: &Connection, back: &Vec<bool>) -> rusqlite::Result<Option<bool>> {
        for (event, _) in self.events.iter().zip(back).filter(|(_, back)| **back) {
            let stands = at(store, self.stream.as_str(), event.seq)?;
            if stands.is_none_or(|stands| stands.archived.is_some()) {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }
}
