//! `cargo xtask test`: everything that must hold before a change is shown to others.
//!
//! Guarantees: stops at the first failing stage, ends with the count of tests and the time.
//! Does not: measure speed; the bench does.

use std::time::Instant;

use anyhow::Result;

use crate::command_line::TestChoice;
use crate::server::Server;
use crate::stage::{Stage, answers, cargo};
use crate::tally::Tally;
use crate::{lint, need, tidy};

/// Runs the stages that `choice` leaves in.
///
/// # Errors
/// The first stage that fails.
pub(crate) fn run(choice: &TestChoice) -> Result<()> {
    let started = Instant::now();
    let everything = choice.runner_args.is_empty();
    let mut tally = Tally::default();
    need::check()?;
    if everything {
        tidy::run()?;
    }
    if everything && !choice.fast {
        lint::run()?;
    }
    // Tests of other crates start the program too, and must not find an old one.
    Stage::cargo("build", &["build", "--workspace", "--all-features", "--bins"]).run()?;
    let server = Server::start_if_none()?;
    let named = |stage: Stage| match &server {
        Some(server) => server.named_to(stage),
        None => stage,
    };
    if everything {
        // Before the others, so that the runner's summary is what stays on the screen.
        let args = ["test", "--doc", "--workspace", "--all-features"];
        named(Stage::cargo("doc tests", &args)).run_counted(&mut tally)?;
    }
    if everything && !choice.fast {
        // The other of the two SQLites that one lock cannot hold.
        let target = ["--target-dir", "target/companion"];
        let manifest = ["test", "--locked", "--manifest-path", "companion/Cargo.toml"];
        let args = [&manifest[..], &target].concat();
        named(Stage::cargo("companion", &args)).run_counted(&mut tally)?;
    }
    if everything && !choice.fast {
        named(orms()).run_counted(&mut tally)?;
    }
    named(runner().with_args(&choice.runner_args)).run_counted(&mut tally)?;
    eprintln!("\nall stages ok, {:.0} s", started.elapsed().as_secs_f64());
    eprintln!("{tally}");
    Ok(())
}

/// Compiles and runs what the docs say of SeaORM and diesel, against the real crates.
pub(crate) fn orms() -> Stage {
    let target = ["--target-dir", "target/companion-orms"];
    let manifest = ["test", "--locked", "--manifest-path", "companion-orms/Cargo.toml"];
    Stage::cargo("SeaORM and diesel", &[&manifest[..], &target].concat())
}

fn runner() -> Stage {
    if answers(&cargo(), &["nextest", "--version"]) {
        let args = ["nextest", "run", "--workspace", "--all-features"];
        return Stage::cargo("tests", &args);
    }
    eprintln!("\nnote: cargo-nextest is not here; cargo test runs the same tests, only slower");
    let targets = ["--lib", "--bins", "--tests", "--examples"];
    Stage::cargo("tests", &[&["test", "--workspace", "--all-features"], &targets[..]].concat())
}
