//! The manifest of a file of events: what it holds, its sums, and what became of it.
//!
//! Guarantees: written only once its file is whole; a newer format is refused, not guessed. Does
//! not: hold content.

use counterfoil_core::domain::{EventRow, Micros};
use counterfoil_core::port::bodies::Place;
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::manifest::{self, Stage};
use crate::name::EVENTS_MANIFEST;
use crate::sum::Sum;
use crate::work::Watch;

/// The format that this version writes, and the newest that it reads.
const FORMAT: u32 = 1;

/// What stands in `NAME.events.manifest.json`; times are microseconds since 1970, UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventManifest {
    /// The format: 1.
    pub format: u32,
    /// The name of the file with the lines, without folder.
    pub file: String,
    /// The source of the store.
    pub source: String,
    /// How far it is; buried: the bodies are not in the store, but those that were left.
    pub stage: Stage,
    /// When it was written.
    pub written_at: Micros,
    /// How many events it holds, a line each.
    pub events: u64,
    /// Of how many workflows.
    pub workflows: u64,
    /// The stream of the first line.
    pub first_stream: String,
    /// The stream of the last line.
    pub last_stream: String,
    /// When the earliest event was recorded.
    pub earliest_event: Micros,
    /// When the latest event was recorded.
    pub latest_event: Micros,
    /// The sum of the file as it lies there, compressed.
    pub compressed: Sum,
    /// The sum of the lines.
    pub lines: Sum,
    /// How many of its lines are copies: their bodies were left in the store, or lie elsewhere.
    pub left: u64,
}

/// What a manifest says of its lines, counted while they pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CountedEvents {
    pub(crate) events: u64,
    workflows: u64,
    first: String,
    last: Option<Place>,
    times: Option<(Micros, Micros)>,
    /// A line does not come after the one before.
    is_unsorted: bool,
}

impl CountedEvents {
    pub(crate) fn add(&mut self, event: &EventRow) {
        let place = (event.stream.to_string(), event.seq);
        self.events += 1;
        match &self.last {
            None => self.first.clone_from(&place.0),
            Some(last) => self.is_unsorted |= *last >= place,
        }
        let is_new = self.last.as_ref().is_none_or(|(stream, _)| *stream != place.0);
        self.workflows += u64::from(is_new);
        self.last = Some(place);
        let at = event.recorded_at;
        let both = self.times.map_or((at, at), |(first, last)| (first.min(at), last.max(at)));
        self.times = Some(both);
    }

    fn last_stream(&self) -> &str {
        self.last.as_ref().map_or("", |(stream, _)| stream)
    }
}

impl EventManifest {
    /// The manifest of a file that is whole.
    pub(crate) fn new(
        (file, source): (&str, &str),
        written_at: Micros,
        counted: &CountedEvents,
        (compressed, lines): (Sum, Sum),
    ) -> Self {
        let (earliest_event, latest_event) = counted.times.unwrap_or_default();
        Self {
            format: FORMAT,
            file: file.to_owned(),
            source: source.to_owned(),
            stage: Stage::Written,
            written_at,
            events: counted.events,
            workflows: counted.workflows,
            first_stream: counted.first.clone(),
            last_stream: counted.last_stream().to_owned(),
            earliest_event,
            latest_event,
            compressed,
            lines,
            left: 0,
        }
    }

    /// Whether it says of its lines what was counted.
    pub(crate) fn agrees(&self, counted: &CountedEvents, lines: &Sum) -> bool {
        !counted.is_unsorted
            && (self.events, self.workflows) == (counted.events, counted.workflows)
            && (self.first_stream.as_str(), self.last_stream.as_str())
                == (counted.first.as_str(), counted.last_stream())
            && (self.earliest_event, self.latest_event) == counted.times.unwrap_or_default()
            && self.lines == *lines
    }

    /// The manifest of a stem; `None` if there is none.
    pub(crate) fn of(folder: &Folder, stem: &str) -> Result<Option<Self>, ArchiveError> {
        manifest::read(folder, &format!("{stem}{EVENTS_MANIFEST}"), FORMAT)
    }

    /// Writes it under its stem.
    pub(crate) fn put(
        &self,
        folder: &Folder,
        stem: &str,
        watch: &dyn Watch,
    ) -> Result<(), ArchiveError> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        durable::put(folder, &format!("{stem}{EVENTS_MANIFEST}"), &bytes, watch)
    }
}
