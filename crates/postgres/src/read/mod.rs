//! What the store shows: to relays that wait, to people, to the audit.
//!
//! Guarantees: each read is one snapshot of a transaction that cannot write. Does not: decide
//! anything.

pub(crate) mod control;
pub(crate) mod due;
pub(crate) mod event;
pub(crate) mod expected;
pub(crate) mod lane;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod status;

/// A text to look for. The server stores no NUL and refuses to be asked for one; an empty text is
/// no name of anything.
pub(crate) fn asked(text: &str) -> &str {
    if text.contains('\0') { "" } else { text }
}
