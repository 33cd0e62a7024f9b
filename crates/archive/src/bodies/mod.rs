//! Events of workflows in files: their bodies leave their rows, and come back.
//!
//! Guarantees: as for commands: a body leaves its row only after its line was read back from the
//! disk, and a run that was killed at any step is finished or undone by the next one. Does not:
//! know which bodies are not needed any more; the store does.

pub(crate) mod line;
pub(crate) mod manifest;
mod read;
mod recall;
pub(crate) mod run;
mod take;
mod write;

pub use manifest::EventManifest;
pub use read::BodyReader;
pub use recall::recall;
