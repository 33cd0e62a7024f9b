//! A file of events that is being written.
//!
//! Guarantees: as of a file of commands: it has its name only once it was read back. Does not: take
//! anything out of a store.

use std::path::PathBuf;

use counterfoil_core::domain::{EventRow, Micros};

use super::line;
use super::manifest::{CountedEvents, EventManifest};
use crate::durable;
use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::name::{self, EVENTS, PART};
use crate::work::{Step, Watch};
use crate::write::LineWriter;

pub(super) struct EventWriter {
    begun_at: Micros,
    part: String,
    lines: LineWriter,
    counted: CountedEvents,
}

impl EventWriter {
    pub(super) fn begin(
        (folder, source): (&Folder, &str),
        begun_at: Micros,
        watch: &dyn Watch,
    ) -> Result<Self, ArchiveError> {
        // How many it will hold is not known yet.
        let stem = name::stem(begun_at, &name::store(source), (1, 0));
        let part = format!("{stem}{EVENTS}{PART}");
        let lines = LineWriter::create(folder.at(&part))?;
        watch.reached(Step::Began(&part));
        Ok(Self { begun_at, part, lines, counted: CountedEvents::default() })
    }

    pub(super) fn add(&mut self, event: &EventRow, watch: &dyn Watch) -> Result<(), ArchiveError> {
        self.lines.add(&line::encode(event))?;
        self.counted.add(event);
        watch.reached(Step::WroteEvents(self.counted.events));
        Ok(())
    }

    /// How many events, and how many bytes their lines are.
    pub(super) fn size(&self) -> (u64, u64) {
        self.lines.size()
    }

    /// Where it lies until it is whole.
    pub(super) fn path(&self, folder: &Folder) -> PathBuf {
        folder.at(&self.part)
    }

    /// Ends it; its stem and its manifest, both durable.
    pub(super) fn finish(
        self,
        folder: &Folder,
        source: &str,
        watch: &dyn Watch,
    ) -> Result<(String, EventManifest), ArchiveError> {
        let Self { begun_at, part, lines, counted } = self;
        let sums = lines.finish(watch)?;
        let last = i64::try_from(counted.events).unwrap_or(i64::MAX);
        let mut at = begun_at;
        let stem = loop {
            let stem = name::stem(at, &name::store(source), (1, last));
            if !folder.has(&format!("{stem}{EVENTS}")) {
                break stem;
            }
            at = Micros::new(at.get() + 1);
        };
        let file = format!("{stem}{EVENTS}");
        durable::rename(folder, &part, &file, watch)?;
        let manifest = EventManifest::new((&file, source), at, &counted, sums);
        manifest.put(folder, &stem, watch)?;
        Ok((stem, manifest))
    }
}
