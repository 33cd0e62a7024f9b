//! Appends a decision, events and commands whole, on the store's own connections.
//!
//! Guarantees: all of it or nothing; the stream's next seq and no cause twice, also among deciders
//! at once; ids made of stream, last seq and index; an id that is taken is a conflict, whatever
//! stands under it. Does not: decide anew after a version conflict; the caller loads the stream
//! again.

use counterfoil_core::domain::CommandId;
use counterfoil_core::port::intent;
use counterfoil_core::port::store::{Append, Appended, WriteRefused};
use futures_util::future::{try_join, try_join3};

use crate::enqueue::{Given, Inserted, Place, arrive, insert_rows, made_due};
use crate::failure::Failure;
use crate::group::Group;
use crate::row;
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const HEAD: Statement = statement!("event_head");
const CAUSE: Statement = statement!("event_cause");
const INSERT: Statement = statement!("event_insert");
const LOAD: Statement = statement!("event_load");
const KNOWN: Statement = statement!("known");

/// One decision.
pub(crate) struct Decision<'a> {
    store: &'a Inner,
    append: Append,
    planned: Appended,
}

impl<'a> Decision<'a> {
    /// Checks what can be checked without the store.
    pub(crate) fn new(store: &'a Inner, append: Append) -> Result<Self, WriteRefused> {
        let planned = intent::plan(&append, store.body_bytes_max())?;
        Ok(Self { store, append, planned })
    }
}

impl Work for Decision<'_> {
    type Answer = Result<Appended, WriteRefused>;

    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> {
        // Both travel together; commands count only behind their event.
        let (events, new) = try_join(self.insert_events(tx), self.insert_commands(tx)).await?;
        let commands = self.planned.command_ids.iter();
        let whole = events == self.append.events.len() && commands.clone().all(|id| new.has(id));
        if whole {
            arrive(&Group::at(tx, self.store, new.now), &new).await?;
            made_due(tx, &self.given(), new.now);
            return Ok(Ok(self.planned.clone()));
        }
        tx.abandon().await?;
        Ok(Err(self.why_refused(tx).await?))
    }

    /// What it wrote stands in its own way, as soon as a COMMIT under way has ended.
    async fn look_again(&self, tx: &Tx<'_>) -> Result<Option<Self::Answer>, Failure> {
        let answer = self.run(tx).await?;
        if answer.is_err() && self.stands(tx).await? {
            return Ok(Some(Ok(self.planned.clone())));
        }
        Ok(Some(answer))
    }

    fn wakes(&self, answer: &Self::Answer) -> bool {
        answer.as_ref().is_ok_and(|appended| !appended.command_ids.is_empty())
    }
}

impl Decision<'_> {
    fn stream(&self) -> &str {
        self.append.stream.as_str()
    }

    /// Inserts the events, if the stream is where they expect it; how many.
    async fn insert_events(&self, tx: &Tx<'_>) -> Result<usize, Failure> {
        let events = || intent::numbered(&self.append);
        let seqs: Vec<i64> = events().map(|(seq, ..)| seq).collect();
        let kinds: Vec<&str> = events().map(|(.., event)| event.kind.as_str()).collect();
        let bodies: Vec<&[u8]> = events().map(|(.., event)| event.body.as_slice()).collect();
        let causes: Vec<Option<&str>> =
            events().map(|(.., event)| event.cause.as_deref()).collect();
        let issued = |issued| i32::try_from(issued).unwrap_or(i32::MAX);
        let commands: Vec<i32> = events().map(|(_, commands, _)| issued(commands)).collect();
        let (stream, expected, ids) = (self.stream(), self.append.expected_seq, self.ids());
        let rows = tx
            .query(INSERT, &[&stream, &expected, &seqs, &kinds, &bodies, &causes, &commands, &ids])
            .await?;
        Ok(rows.len())
    }

    /// The commands under their ids.
    fn given(&self) -> Vec<Given<'_>> {
        let (stream, seq) = (self.stream(), self.planned.seq);
        let all = self.planned.command_ids.iter().zip(&self.append.commands).zip(0..);
        let given = |((id, command), idx)| {
            let place = Some(Place { stream, seq, idx });
            Given { id, command, place }
        };
        all.map(given).collect()
    }

    async fn insert_commands(&self, tx: &Tx<'_>) -> Result<Inserted, Failure> {
        insert_rows(tx, &self.given(), None, Some((self.stream(), self.planned.seq))).await
    }

    fn ids(&self) -> Vec<&str> {
        self.planned.command_ids.iter().map(CommandId::as_str).collect()
    }

    /// Read anew, since a twin that was waited for has ended meanwhile.
    async fn why_refused(&self, tx: &Tx<'_>) -> Result<WriteRefused, Failure> {
        let stream = self.stream();
        let causes: Vec<Option<&str>> =
            self.append.events.iter().map(|event| event.cause.as_deref()).collect();
        let ids = self.ids();
        let (head, taken, known) = try_join3(
            tx.query_opt(HEAD, &[&stream]),
            tx.query(CAUSE, &[&stream, &causes]),
            tx.query(KNOWN, &[&ids]),
        )
        .await?;
        let actual = head.as_ref().and_then(|row| row::int(row, 0)).unwrap_or(0);
        let is_workflow = head.as_ref().is_some_and(|row| row::flag(row, 1));
        if let Err(refused) = intent::check_place(&self.append, actual, is_workflow) {
            return Ok(refused);
        }
        let taken: Vec<&str> = taken.iter().filter_map(|row| row::text(row, 0)).collect();
        if let Some(cause) = causes.into_iter().flatten().find(|cause| taken.contains(cause)) {
            return Ok(intent::cause_taken(&self.append.stream, cause));
        }
        let known = known.iter().map(|row| row::flag(row, 0));
        let conflict = self.planned.command_ids.iter().zip(known).find(|(_, known)| *known);
        match conflict {
            Some((id, _)) => Ok(intent::conflict(id)),
            None => Err(Failure::Again("what stood in the way of a decision is gone".into())),
        }
    }

    /// Whether this decision is what stands there: the body of its last event and the ids of its
    /// commands tell it from another.
    async fn stands(&self, tx: &Tx<'_>) -> Result<bool, Failure> {
        let Some(event) = self.append.events.last() else { return Ok(false) };
        let (stream, before, one) = (self.stream(), self.planned.seq - 1, 1_i64);
        let ids = self.ids();
        let (last, known) =
            try_join(tx.query_opt(LOAD, &[&stream, &before, &one]), tx.query(KNOWN, &[&ids]))
                .await?;
        let same = last.is_some_and(|row| {
            row::int(&row, 0) == Some(self.planned.seq)
                && row::text(&row, 1) == Some(event.kind.as_str())
                && row::bytes(&row, 2) == Some(event.body.as_slice())
                && row::text(&row, 3) == event.cause.as_deref()
        });
        Ok(same && known.iter().all(|row| row::flag(row, 0)))
    }
}
