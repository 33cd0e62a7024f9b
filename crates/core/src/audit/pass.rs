//! From where an audit looked, and what became of the seal.
//!
//! Guarantees: an audit that looked at less than everything says so. Does not: decide; see
//! `sealed`.

use crate::domain::Micros;

/// How much one audit looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// Why everything was looked at; `None`: only what came since the seal, and what is open.
    pub full: Option<WhyFull>,
    /// The seal that it began with, if there was one that could be read.
    pub from: Option<From>,
    /// What became of the seal.
    pub seal: SealFate,
}

/// The seal that an audit began with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct From {
    /// The largest `n` that it covers.
    pub n: i64,
    /// When the audit held that wrote it; of one that an older version wrote, when it was last
    /// written.
    pub sealed_at: Micros,
    /// When the last full audit held.
    pub full_at: Option<Micros>,
}

/// Why an audit looked at everything.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyFull {
    /// It was asked to.
    Asked,
    /// No audit has held before.
    First,
    /// The last full one did not hold.
    Broken,
    /// It was asked to, and the seal could not be read: a new one is begun. Why it could not.
    Unreadable(String),
}

/// What became of the seal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealFate {
    /// It was written anew and covers commands up to this `n`.
    Renewed(i64),
    /// It stays, since not everything holds.
    Violated,
    /// It stays where it is, since a transaction is left open: what that one writes would be
    /// passed over.
    Open,
    /// It stays, and its sums were not compared: an archive or an erasure changed it each time.
    Moved,
    /// It could not be written. Why.
    NotWritten(String),
}
