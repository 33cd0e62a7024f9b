//! The verbs: each gives its flags their meaning and does its work.
//!
//! Guarantees: configuration is read before a store is opened, and a store before anything is
//! sent. Does not: decide anything about a command; that is the domain's.

mod act;
mod actor;
mod audit;
mod doctor;
mod drill;
mod enqueue;
mod filter;
mod init;
mod json_line;
mod list;
mod manual;
mod next;
mod pause;
mod receiver;
mod relay;
mod restored;
mod show;
mod status;
mod stop;
mod time_or_ago;
mod transport;
mod way_out;

use std::path::{Path, PathBuf};

use counterfoil_core::port::Store;
use counterfoil_sqlite::{Options, SqliteStore};

use crate::args::{Shared, Typed, Verb};
use crate::config::{Config, RelaySettings, store_url};
use crate::exit::{Ended, Failure};

/// Does what was typed.
///
/// # Errors
/// What was refused, and the way out.
pub(crate) fn run(typed: Typed) -> Ended {
    let shared = typed.shared;
    crate::logging::start(&shared)?;
    match typed.verb {
        Verb::Init(args) => init::run(&shared, args),
        Verb::Enqueue(args) => enqueue::run(&shared, args),
        Verb::Relay(args) => relay::run(&shared, &args),
        Verb::Receiver(args) => receiver::run(&shared, &args),
        Verb::Status(args) => status::run(&shared, &args),
        Verb::List(args) => list::run(&shared, args),
        Verb::Show(args) => show::run(&shared, &args),
        Verb::Retry(args) => act::retry(&shared, args),
        Verb::Resolve(args) => act::resolve(&shared, args),
        Verb::Cancel(args) => act::cancel(&shared, args),
        Verb::Redeliver(args) => act::redeliver(&shared, args),
        Verb::Pause(args) => pause::pause(&shared, args),
        Verb::Resume(args) => pause::resume(&shared, args),
        Verb::Explain(args) => manual::explain(&args),
        Verb::Completions(args) => manual::completions(&args),
        Verb::Man(args) => manual::man(&args),
        Verb::Audit(args) => audit::run(&shared, &args),
        Verb::Doctor(args) => doctor::run(&shared, &args),
        Verb::Restored(args) => restored::run(&shared, args),
        Verb::Drill(args) => drill::run(&shared, &args),
        Verb::Other(words) => Err(other(words.first().map_or("", String::as_str))),
    }
}

/// Verbs that a later version brings.
const NOT_YET: &[&str] = &["archive", "bench", "erase", "up", "workflow"];

fn other(verb: &str) -> Failure {
    if NOT_YET.contains(&verb) {
        let text = format!("`{verb}` is not yet there: a later version brings it");
        return Failure::could_not_run(text).help("`counterfoil --help` lists what is there");
    }
    Failure::could_not_run(format!("`{verb}` is no verb"))
        .help("`counterfoil --help` lists the verbs")
}

/// The configuration, if there is one, and the path of the store.
struct Found {
    config: Option<Config>,
    path: PathBuf,
    /// By a flag or a variable, not by the configuration.
    named_elsewhere: bool,
}

impl Found {
    fn new(shared: &Shared) -> Result<Self, Failure> {
        let config = Config::find(shared.config.as_deref())?;
        let named = store_url::named(shared.store.as_deref());
        let named_elsewhere = named.is_some();
        let path = store_url::find(named, config.as_ref())?;
        Ok(Self { config, path, named_elsewhere })
    }

    /// `[relay]`, or its defaults.
    fn relay(&self) -> Result<RelaySettings, Failure> {
        self.config.as_ref().map_or_else(|| Ok(RelaySettings::default()), Config::relay)
    }

    /// Opens the store; where the configuration names it, it must have the configuration's source.
    fn open(&self) -> Result<SqliteStore, Failure> {
        let options = Options::default().body_bytes_max(self.relay()?.body_bytes_max);
        let store = open(&self.path, options)?;
        if !self.named_elsewhere {
            self.check_source(&store)?;
        }
        Ok(store)
    }

    /// Opens the store to send from it: however it is named, it must have the configuration's
    /// source.
    fn open_to_send(&self) -> Result<SqliteStore, Failure> {
        let store = self.open()?;
        self.check_source(&store)?;
        Ok(store)
    }

    fn check_source(&self, store: &SqliteStore) -> Result<(), Failure> {
        let Some(config) = &self.config else { return Ok(()) };
        let (Some(source), stored) = (config.source()?, store.source()) else { return Ok(()) };
        if *source == *stored {
            return Ok(());
        }
        let (name, path) = (config.name(), self.path.display());
        let text =
            format!("{name}: `store.source` is {source:?}, but the store {path} is {stored:?}");
        Err(Failure::could_not_run(text).help(
            "a store keeps its source for ever: write its own into the configuration, or name \
             the right store",
        ))
    }
}

fn open(path: &Path, options: Options) -> Result<SqliteStore, Failure> {
    SqliteStore::open(path, options).map_err(Failure::could_not_run)
}

/// Runs `work` to its end on this thread.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(no_runtime)?.block_on(work)
}

/// Runs `work` to its end on all cores.
fn block_on_many<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(no_runtime)?.block_on(work)
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn no_runtime(error: std::io::Error) -> Failure {
    Failure::could_not_run(format!("the system gives no threads: {error}"))
}
