//! `archive`: moves what ended long ago into files, or proves that the files are whole.
//!
//! Guarantees: what breaks a law, what a run finds lost, and every finding, makes exit code 1; an
//! error says that nothing is lost. Does not: hold any rule of the archive; its own crate does.

mod tell;

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use counterfoil_archive::{
    ArchiveError, Folder, KeptSeal, Options, Step, Watch, Work, archive, verify_sealed,
};
use counterfoil_core::port::{BoxFuture, Store};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Found, block_on, time_or_ago};
use crate::args::{Archive, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::output;

/// How long others have the store between two batches.
const REST: Duration = Duration::from_millis(2);
/// How many findings are kept in full.
const KEEP: usize = 1000;

/// Does `archive`.
///
/// # Errors
/// A flag is wrong, a folder cannot be used, or the store cannot be read or written.
pub(crate) fn run(shared: &Shared, args: &Archive) -> Ended {
    let found = Found::new(shared)?;
    match &args.older_than {
        Some(age) => move_old(&found, age, args),
        None => prove(&found, args),
    }
}

fn move_old(found: &Found, age: &str, args: &Archive) -> Ended {
    let Some(dir) = found.archive(args.to.as_deref())? else {
        let text = "`archive` needs a folder for its files";
        return Err(Failure::could_not_run(text)
            .help("name one with --to DIR, or for good by [archive] dir in the configuration"));
    };
    let store = found.open()?;
    let before = time_or_ago::parse("--older-than", age, store.now()?)?;
    let folder = Folder::new(&dir).and_then(Folder::lock).map_err(failed)?;
    let watch = Telling::new();
    let seals = KeptSeal(&store);
    let work = Work::new(&store, &folder).watched(&watch).sealed(&seals);
    let done = block_on(async { archive(&work, &Options::new(before)).await.map_err(failed) });
    watch.end();
    let report = done?;
    if args.json {
        output::line(&tell::run_json(&report).to_string())?;
    } else {
        output::line(&tell::run(&report, &dir))?;
    }
    Ok(if report.broken == 0 && report.lost() == 0 { Exit::Done } else { Exit::Refused })
}

fn prove(found: &Found, args: &Archive) -> Ended {
    let store = found.open()?;
    let folders = args.verify.iter().map(|dir| Folder::new(dir).map_err(failed));
    let folders = folders.collect::<Result<Vec<_>, _>>()?;
    let seals = KeptSeal(&store);
    let work = async { verify_sealed(&store, &seals, &folders, KEEP).await.map_err(failed) };
    let report = block_on(work)?;
    if args.json {
        output::line(&tell::verify_json(&report).to_string())?;
    } else {
        output::line(&tell::verify(&report))?;
    }
    Ok(if report.holds { Exit::Done } else { Exit::Refused })
}

/// A folder for a verb that can do without; one that is named must be there.
pub(super) fn folder(dir: Option<&Path>) -> Result<Option<Folder>, Failure> {
    dir.map(|dir| Folder::new(dir).map_err(failed)).transpose()
}

/// What an archive could not do; each says its way out itself.
pub(super) fn failed(error: ArchiveError) -> Failure {
    let help = format!("counterfoil explain {}", error.code());
    match error {
        ArchiveError::Store(error) => error.into(),
        ArchiveError::Foreign { .. }
        | ArchiveError::NotHere { .. }
        | ArchiveError::BodyNotHere { .. } => Failure::refused(error).help(help),
        other => Failure::could_not_run(other).help(help),
    }
}

/// Tells on a terminal how far it is, and lets others go between batches.
struct Telling {
    bar: ProgressBar,
}

impl Telling {
    fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target =
            if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::default_spinner());
        Self { bar }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Telling {
    fn reached(&self, step: Step<'_>) {
        let said = match step {
            Step::Written(count) => format!("{count} commands written"),
            Step::Buried(done, of) => format!("{done} of {of} commands removed from the store"),
            Step::WroteEvents(count) => format!("{count} events written"),
            Step::Taken(done, of) => format!("{done} of {of} bodies taken out of the store"),
            _ => return,
        };
        self.bar.set_message(said);
        self.bar.tick();
    }

    fn rest(&self) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(REST))
    }
}
