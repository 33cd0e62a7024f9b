//! `cargo xtask lint`: format, lints, documentation, oldest Rust, dependencies.
//!
//! Guarantees: a warning fails, of the compiler, of clippy, of rustdoc.
//! Does not: change a file; `cargo fmt` and `cargo clippy --fix` do.

use anyhow::Result;

use crate::stage::Stage;
use crate::{deny, msrv};

/// Runs all checks that need no test.
///
/// # Errors
/// The first check that fails.
pub(crate) fn run() -> Result<()> {
    Stage::cargo("format", &["fmt", "--all", "--check"]).run()?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--all-features"];
    Stage::cargo("clippy", &[&clippy[..], &["--", "-D", "warnings"]].concat()).run()?;
    let doc = ["doc", "--no-deps", "--workspace", "--all-features"];
    Stage::cargo("documentation", &doc).with_env("RUSTDOCFLAGS", "-D warnings").run()?;
    msrv::check()?;
    deny::check()
}
