//! Finds the bodies of archived events in the files of folders.
//!
//! Guarantees: a body is the one of the digest that its row keeps; histories that are read in the
//! order of streams read each file once. Does not: look at manifests; `verify` does.

use counterfoil_core::domain::EventRow;
use counterfoil_core::port::bodies::{Place, ReadBodies};
use counterfoil_core::port::store::StoreError;

use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::lines::Lines;

/// How many files are kept open.
const OPEN_MAX: usize = 8;

/// Reads bodies from these folders.
pub struct BodyReader {
    folders: Vec<Folder>,
    open: Vec<Open>,
}

/// A file that is being read; its lines are in the order of stream and seq.
struct Open {
    name: String,
    lines: Lines,
    /// The line that was read last, and its place.
    held: Option<(Place, EventRow)>,
}

impl BodyReader {
    /// Nothing is read yet.
    #[must_use]
    pub const fn new(folders: Vec<Folder>) -> Self {
        Self { folders, open: Vec::new() }
    }

    /// Gives these events of one stream, in the order of seq, their bodies; those whose file is in
    /// none of the folders stay as they are.
    ///
    /// # Errors
    /// [`ArchiveError`] if a file cannot be read, or does not hold what its row says.
    pub fn fill(&mut self, events: &mut [EventRow]) -> Result<(), ArchiveError> {
        for event in events {
            let Some(archived) = &event.archived else { continue };
            let name = archived.file.clone();
            let Some(folder) = self.folders.iter().find(|folder| folder.has(&name)) else {
                continue;
            };
            let path = folder.at(&name);
            let place = (event.stream.to_string(), event.seq);
            let open = match self.open.iter().position(|open| open.name == name) {
                Some(at) if self.open[at].is_before(&place) => self.open.remove(at),
                Some(at) => Open { lines: Lines::open(&path)?, held: None, ..self.open.remove(at) },
                None => Open { name: name.clone(), lines: Lines::open(&path)?, held: None },
            };
            if self.open.len() >= OPEN_MAX {
                self.open.remove(0);
            }
            self.open.push(open);
            let Some(open) = self.open.last_mut() else { continue };
            let found = open.find(&place)?;
            let is_it = |found: &&EventRow| {
                let archived = event.archived.clone();
                let bare = EventRow { body: Vec::new(), archived, ..(*found).clone() };
                bare == *event && found.body_digest() == event.body_digest()
            };
            let Some(found) = found.filter(is_it) else {
                let why = format!("it has no line with the body of event {}:{}", place.0, place.1);
                return Err(ArchiveError::damaged(&path, why));
            };
            (event.body, event.archived) = (found.body.clone(), None);
        }
        Ok(())
    }
}

impl Open {
    fn is_before(&self, place: &Place) -> bool {
        self.held.as_ref().is_none_or(|(at, _)| at <= place)
    }

    /// The event at this place, if the file has it.
    fn find(&mut self, place: &Place) -> Result<Option<&EventRow>, ArchiveError> {
        while self.held.as_ref().is_none_or(|(at, _)| at < place) {
            let Some(event) = self.lines.event()? else { return Ok(None) };
            self.held = Some(((event.stream.to_string(), event.seq), event));
        }
        Ok(self.held.as_ref().filter(|(at, _)| at == place).map(|(_, event)| event))
    }
}

impl ReadBodies for BodyReader {
    fn read(&mut self, events: &mut [EventRow]) -> Result<(), StoreError> {
        self.fill(events).map_err(|error| match error {
            ArchiveError::Store(error) => error,
            error => StoreError::Broken(error.to_string()),
        })
    }
}
