//! An erasure that is under way: what is asked, written down before anything is done.
//!
//! Guarantees: whoever finds it knows all that is needed to end it. Does not: hold content.

use counterfoil_core::domain::{Digest, Micros};
use counterfoil_core::port::Actor;
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::name::{INTENT, is_intent};
use crate::work::Watch;

/// What stands in `….erase.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Intent {
    pub(crate) command_id: String,
    pub(crate) actor: String,
    pub(crate) reason: String,
    /// When it was asked, by the store's clock.
    pub(crate) asked_at: Micros,
    /// The file where the line counted then, if it was archived and not erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
}

impl Intent {
    pub(crate) fn actor(&self) -> Actor {
        Actor { name: self.actor.clone(), reason: self.reason.clone() }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}{INTENT}", Digest::of(self.command_id.as_bytes()))
    }

    pub(crate) fn put(&self, folder: &Folder, watch: &dyn Watch) -> Result<(), ArchiveError> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        durable::put(folder, &self.name(), &bytes, watch)
    }

    /// All that stand in a folder under a name of ours.
    pub(crate) fn all(folder: &Folder) -> Result<Vec<Self>, ArchiveError> {
        let names = folder.names()?;
        let read = |name: &String| {
            let path = folder.at(name);
            let bytes = std::fs::read(&path).map_err(|error| ArchiveError::read(&path, error))?;
            serde_json::from_slice(&bytes)
                .map_err(|error| ArchiveError::damaged(&path, error.to_string()))
        };
        names.iter().filter(|name| is_intent(name)).map(read).collect()
    }
}
