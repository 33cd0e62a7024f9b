//! Licences, banned crates and sources of the dependencies, judged by cargo-deny.
//!
//! Guarantees: where cargo-deny is installed, `deny.toml` holds.
//! Does not: look for security advisories, which need a network; without cargo-deny it only says
//! that nothing was checked.

use anyhow::Result;

use crate::stage::{Stage, answers, cargo};

/// Runs cargo-deny, or says in one line that it is missing.
///
/// # Errors
/// A dependency breaks `deny.toml`.
pub(crate) fn check() -> Result<()> {
    if !answers(&cargo(), &["deny", "--version"]) {
        eprintln!(
            "\nnote: licences, bans and sources were not checked; \
             for that: cargo install cargo-deny --locked"
        );
        return Ok(());
    }
    Stage::cargo("dependencies", &["deny", "check", "licenses", "bans", "sources"]).run()
}
