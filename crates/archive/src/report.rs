//! What a run of the archive came to.
//!
//! Guarantees: plain data; every command that was looked at is counted once. Does not: print.

use counterfoil_core::domain::laws::Violation;
use counterfoil_core::port::archive::Kept;
use counterfoil_core::port::bodies::KeptBodies;

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// Its name, without folder.
    pub name: String,
    /// How many commands it holds.
    pub commands: u64,
    /// How many of them this run removed from the store.
    pub buried: u64,
    /// Those that had changed meanwhile, and were left in the store.
    pub left: Vec<String>,
    /// Those that were archived from elsewhere meanwhile: the lines here do not count.
    pub elsewhere: Vec<String>,
    /// Those that are in no table of the store, though nobody archived them: `CF1130`.
    pub lost: Vec<String>,
    /// A run before was cut short: this one finished it.
    pub resumed: bool,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveReport {
    /// The files, in the order of writing.
    pub files: Vec<FileReport>,
    /// What ended long enough ago and stays, by why.
    pub kept: Kept,
    /// Commands that break a law, and so stay: how many.
    pub broken: u64,
    /// What they break; at most so many as the options say.
    pub violations: Vec<Violation>,
    /// The files of events, in the order of writing.
    pub events: Vec<EventFileReport>,
    /// Bodies of events that are old enough and stay, by why.
    pub kept_bodies: KeptBodies,
}

/// What became of one file of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFileReport {
    /// Its name, without folder.
    pub name: String,
    /// How many events it holds.
    pub events: u64,
    /// How many of their bodies this run took out of their rows.
    pub taken: u64,
    /// How many stayed there, since something happened to their workflows meanwhile, or another
    /// run took them: those lines are copies.
    pub left: u64,
    /// A run before was cut short: this one finished it.
    pub resumed: bool,
}

impl ArchiveReport {
    /// How many commands were removed from the store.
    #[must_use]
    pub fn buried(&self) -> u64 {
        self.files.iter().map(|file| file.buried).sum()
    }

    /// How many commands of files are in no table of the store.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.files.iter().map(|file| file.lost.len() as u64).sum()
    }

    /// How many bodies of events were taken out of their rows.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.events.iter().map(|file| file.taken).sum()
    }
}
