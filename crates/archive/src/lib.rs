//! The archive: moves ended commands, and bodies of old events, out of a store into compressed
//! files, by proof.
//!
//! Guarantees: a row is removed only after its line was read back from the disk, exactly as it
//! stands; a run that was killed at any step is finished or undone by the next one. Does not:
//! know a concrete store, or judge how long commands are kept.
//!
//! The format and the steps stand in `docs/archive.md`.

mod bodies;
mod bury;
mod durable;
mod erase;
mod error;
mod folder;
mod intent;
mod judge;
mod kept_seal;
mod line;
mod lines;
mod look;
mod manifest;
mod name;
mod report;
mod resume;
mod rewrite;
mod run;
mod sum;
mod verify;
mod work;
mod write;

pub use bodies::{BodyReader, EventManifest, recall};
pub use erase::{Erasure, erase, erase_in_store};
pub use error::ArchiveError;
pub use folder::{Folder, Lock};
pub use kept_seal::KeptSeal;
pub use line::{decode, encode};
pub use lines::Lines;
pub use look::{Compared, Looked, look};
pub use manifest::{Manifest, Stage};
pub use report::{ArchiveReport, EventFileReport, FileReport};
pub use run::{Options, archive};
pub use sum::Sum;
pub use verify::{Finding, VerifyReport, verify, verify_sealed};
pub use work::{Seals, Step, Unsealed, Unwatched, Watch, Work};
