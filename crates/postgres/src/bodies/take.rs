//! Takes the bodies of archived events out of their rows, and puts them back.
//!
//! Guarantees: one statement compares each row with what was read, and its workflow with what may
//! be needed, and changes it; what comes back has the digest that was kept. Does not: send bodies
//! to the server that it has; their digests do.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::{Digest, EventRow, Stream};
use counterfoil_core::port::Actor;
use counterfoil_core::port::bodies::{Place, RECALL_VERB};

use super::page;
use crate::failure::Failure;
use crate::group::Group;
use crate::pause::{Action, insert_action};
use crate::position::int as narrow;
use crate::row::{int, string};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const TAKE: Statement = statement!("body_take");
const BACK: Statement = statement!("body_back");

/// Bodies to be taken.
pub(super) struct Take {
    events: Vec<EventRow>,
    digests: Vec<Digest>,
    file: String,
}

impl Take {
    pub(super) fn new(file: &str, events: Vec<EventRow>) -> Self {
        let digests = events.iter().map(|event| Digest::of(&event.body)).collect();
        Self { events, digests, file: file.to_owned() }
    }

    fn places(&self) -> Vec<Place> {
        self.events.iter().map(|event| (event.stream.to_string(), event.seq)).collect()
    }
}

impl Work for Take {
    type Answer = Vec<bool>;

    async fn run(&self, tx: &Tx<'_>) -> Result<Vec<bool>, Failure> {
        // In the order of their places, so that two who take the same wait and do not deadlock.
        let here = self.events.iter().zip(&self.digests);
        let here = here.filter(|(event, _)| event.archived.is_none());
        let here: BTreeMap<(&str, i64), (&EventRow, &Digest)> =
            here.map(|it| ((it.0.stream.as_str(), it.0.seq), it)).collect();
        let all = || here.values();
        let streams: Vec<&str> = here.keys().map(|(stream, _)| *stream).collect();
        let seqs: Vec<i64> = here.keys().map(|(_, seq)| *seq).collect();
        let kinds: Vec<&str> = all().map(|(event, _)| event.kind.as_str()).collect();
        let causes: Vec<Option<&str>> = all().map(|(event, _)| event.cause.as_deref()).collect();
        let commands: Vec<i32> = all()
            .map(|(event, _)| narrow(u32::try_from(event.commands).unwrap_or(u32::MAX)))
            .collect();
        let times: Vec<i64> = all().map(|(event, _)| event.recorded_at.get()).collect();
        let decided: Vec<Option<&str>> = all().map(|(event, _)| event.decided.as_deref()).collect();
        let digests: Vec<&[u8]> = all().map(|(_, digest)| digest.as_bytes().as_slice()).collect();
        let columns: [&dyn crate::param::Param; 9] =
            [&streams, &seqs, &kinds, &causes, &commands, &times, &decided, &digests, &self.file];
        let rows = tx.query(TAKE, &columns).await?;
        let taken: BTreeSet<Place> =
            rows.iter().filter_map(|row| Some((string(row, 0)?, int(row, 1)?))).collect();
        Ok(self.places().iter().map(|place| taken.contains(place)).collect())
    }

    /// Rows tell by their file and digest what was committed; the others are taken now.
    async fn look_again(&self, tx: &Tx<'_>) -> Result<Option<Vec<bool>>, Failure> {
        let stands = page::at(tx, &self.places()).await?;
        let now = self.run(tx).await?;
        let is_ours = |(row, digest): (Option<EventRow>, &Digest)| {
            row.and_then(|row| row.archived)
                .is_some_and(|it| it.file == self.file && it.digest == Some(*digest))
        };
        let ours = stands.into_iter().zip(&self.digests).map(is_ours);
        Ok(Some(ours.zip(now).map(|(ours, now)| ours || now).collect()))
    }
}

/// Bodies of one stream that come back.
pub(super) struct PutBack<'a> {
    pub(super) store: &'a Inner,
    pub(super) stream: Stream,
    pub(super) events: Vec<EventRow>,
    pub(super) actor: Actor,
}

impl Work for PutBack<'_> {
    type Answer = Vec<bool>;

    async fn run(&self, tx: &Tx<'_>) -> Result<Vec<bool>, Failure> {
        let stream = self.stream.as_str();
        let is_ours = |event: &&EventRow| event.archived.is_none() && event.stream == self.stream;
        let ours: BTreeMap<i64, &[u8]> = self
            .events
            .iter()
            .filter(is_ours)
            .map(|event| (event.seq, event.body.as_slice()))
            .collect();
        let seqs: Vec<i64> = ours.keys().copied().collect();
        let bodies: Vec<&[u8]> = ours.values().copied().collect();
        let rows = tx.query(BACK, &[&stream, &seqs, &bodies]).await?;
        let back: BTreeSet<i64> = rows.iter().filter_map(|row| int(row, 0)).collect();
        if !back.is_empty() {
            let group = Group::begin(tx, self.store).await?;
            let action = Action { verb: RECALL_VERB, about: stream, actor: &self.actor.name };
            let reason = Some(self.actor.reason.as_str()).filter(|reason| !reason.is_empty());
            insert_action(&group, &action, reason, (Some("archived"), "here")).await?;
        }
        Ok(self.events.iter().map(|event| back.contains(&event.seq)).collect())
    }
}
