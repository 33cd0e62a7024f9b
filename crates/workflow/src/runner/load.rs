//! Brings a workflow into memory: from its snapshot and the events after it, page by page.
//!
//! Guarantees: however long events are, no more of them than a page is in memory, and of a loaded
//! workflow that waits to be decided a few alone. Does not: bound the state; programs do.

use std::sync::Arc;

use counterfoil_core::domain::event::is_last_page;
use counterfoil_core::domain::workflow::Program;
use counterfoil_core::domain::{EventRow, Stream};
use counterfoil_core::port::Workflows;
use counterfoil_core::port::workflow::Snapshot;

use super::decider::Decider;
use super::{Failed, Notice, Observer};
use crate::broken::Broken;
use crate::instance::Instance;
use crate::programs::Programs;

/// How many events are read at once.
const PAGE: usize = 500;
/// The last page is folded at once where it has so many bytes: 64 KiB. Many workflows may be loaded
/// before the first of them is decided.
const TAIL_BYTES: usize = 64 * 1024;

/// What loading needs.
pub(super) struct Loader<'a, S> {
    pub(super) store: &'a S,
    pub(super) programs: &'a Programs,
    pub(super) decider: &'a Decider,
    pub(super) observer: &'a dyn Observer,
}

/// A workflow in memory; the last page of its events is still to be folded.
pub(super) struct Loaded {
    pub(super) instance: Result<Instance, Broken>,
    pub(super) tail: Vec<EventRow>,
    pub(super) events_read: u64,
}

impl<S: Workflows> Loader<'_, S> {
    /// Loads the workflow whose newest event was `head` when its inputs were read.
    pub(super) async fn load(
        &self,
        stream: &Stream,
        program: &Program,
        head: i64,
    ) -> Result<Loaded, Failed> {
        let standing = self.store.standing(stream, program).await;
        let (_, snapshot) = standing.map_err(Failed::store("looking at a workflow"))?;
        let begun = match snapshot {
            Some(snapshot) => self.restore((stream, head), snapshot).await?,
            None => None,
        };
        let mut instance = match begun {
            Some(instance) => instance,
            None => match self.begin((stream, head), program).await? {
                Ok(instance) => instance,
                Err(why) => return Ok(Loaded::broken(why)),
            },
        };
        let mut events_read = 0;
        loop {
            let after = instance.head;
            let page = self.store.load_page(stream, after, PAGE).await;
            let page = page.map_err(Failed::store("loading events"))?;
            events_read += page.len() as u64;
            let is_last = is_last_page(&page, PAGE);
            if is_last && page.iter().map(EventRow::bytes).sum::<usize>() <= TAIL_BYTES {
                return Ok(Loaded { instance: Ok(instance), tail: page, events_read });
            }
            let fold = self.decider.run(move |marker| {
                marker.begin((&instance.stream, &instance.program), head, "");
                let folded = page.iter().try_for_each(|row| instance.fold(row));
                folded.map(|()| instance)
            });
            instance = match fold.await.map_err(Failed::Lost)? {
                Ok(instance) => instance,
                Err(why) => return Ok(Loaded::broken(why)),
            };
            if is_last {
                return Ok(Loaded { instance: Ok(instance), tail: Vec::new(), events_read });
            }
        }
    }

    async fn begin(
        &self,
        (stream, head): (&Stream, i64),
        program: &Program,
    ) -> Result<Result<Instance, Broken>, Failed> {
        let Some(code) = self.programs.get(program) else {
            return Ok(Err(Broken::History(format!("program {program} is not given"))));
        };
        let (stream, program) = (stream.clone(), program.clone());
        let begun = self.decider.run(move |marker| {
            marker.begin((&stream, &program), head, "");
            Instance::begin(stream, program, code)
        });
        begun.await.map_err(Failed::Lost)
    }

    /// `None`: it does not read back, and all events are folded instead.
    async fn restore(
        &self,
        (stream, head): (&Stream, i64),
        snapshot: Snapshot,
    ) -> Result<Option<Instance>, Failed> {
        let Some(code) = self.programs.get(&snapshot.program) else { return Ok(None) };
        let of = stream.clone();
        let restored = self.decider.run(move |marker| {
            marker.begin((&of, &snapshot.program), head, "");
            Instance::restore(of, Arc::clone(&code), &snapshot)
        });
        match restored.await.map_err(Failed::Lost)? {
            Ok(instance) => Ok(Some(instance)),
            Err(why) => {
                let (workflow, reason) = (stream.to_string(), why.to_string());
                self.observer.notice(&Notice::Unread { workflow, reason });
                Ok(None)
            }
        }
    }
}

impl Loaded {
    fn broken(why: Broken) -> Self {
        Self { instance: Err(why), tail: Vec::new(), events_read: 0 }
    }
}
