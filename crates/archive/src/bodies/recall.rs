//! Brings the bodies of one workflow back into their rows.
//!
//! Guarantees: all of them are found and proved by their digests before the first comes back; what
//! a crash leaves is archived or back, and asking again brings the rest. Does not: change a file;
//! its lines are copies then.

use counterfoil_core::domain::{EventRow, Stream};
use counterfoil_core::port::Actor;
use counterfoil_core::port::bodies::Bodies;

use super::read::BodyReader;
use crate::error::ArchiveError;
use crate::run::{PAGE_FIRST, next_limit};

/// How many are proved at once.
const PAGE: usize = 250;

/// Puts every archived body of a stream back; how many came. The newest come first, so that a run
/// of the archive, which goes on behind the newest archived one, takes all that are back again.
///
/// # Errors
/// [`ArchiveError::BodyNotHere`] where a file is in no folder of the reader; then none came back.
pub async fn recall<S: Bodies>(
    store: &S,
    reader: &mut BodyReader,
    stream: &Stream,
    actor: &Actor,
) -> Result<u64, ArchiveError> {
    prove(store, reader, stream).await?;
    let (mut came, mut before, mut limit) = (0, i64::MAX, PAGE_FIRST);
    loop {
        let mut events = store.archived_before(stream, before, limit).await?;
        let Some(last) = events.last() else { return Ok(came) };
        before = last.seq;
        events.reverse();
        read(reader, &mut events)?;
        limit = next_limit(events.iter().map(|event| event.body.len()), limit);
        let back = store.put_back(stream, events, actor.clone()).await?;
        came += back.iter().filter(|back| **back).count() as u64;
    }
}

async fn prove<S: Bodies>(
    store: &S,
    reader: &mut BodyReader,
    stream: &Stream,
) -> Result<(), ArchiveError> {
    let mut after = (stream.to_string(), 0);
    loop {
        let page = store.archived_bodies(Some(after.clone()), PAGE).await?;
        let mut events: Vec<EventRow> =
            page.into_iter().take_while(|event| event.stream == *stream).collect();
        let Some(last) = events.last() else { return Ok(()) };
        after.1 = last.seq;
        for event in &mut events {
            read(reader, std::slice::from_mut(event))?;
            // One at a time is held.
            event.body = Vec::new();
        }
    }
}

fn read(reader: &mut BodyReader, events: &mut [EventRow]) -> Result<(), ArchiveError> {
    reader.fill(events)?;
    for event in events {
        if let Some(archived) = &event.archived {
            let (stream, seq) = (event.stream.to_string(), event.seq);
            return Err(ArchiveError::BodyNotHere { stream, seq, file: archived.file.clone() });
        }
    }
    Ok(())
}
