//! The verbs: each gives its flags their meaning and does its work.
//!
//! Guarantees: configuration is read before a store is opened, and a store before anything is
//! sent. Does not: decide anything about a command; that is the domain's.

mod act;
mod actor;
mod archive;
mod audit;
mod doctor;
mod drill;
mod enqueue;
mod erase;
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
mod workflow;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use counterfoil_core::port::Store;
use tokio::runtime::Runtime;

use crate::args::{Shared, Typed, Verb};
use crate::config::store_url::{self, StoreUrl};
use crate::config::{Config, RelaySettings};
use crate::exit::{Ended, Failure, verdict};
use crate::store::OpenStore;

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
        Verb::Audit(args) => verdict(audit::run(&shared, &args)),
        Verb::Archive(args) => verdict(archive::run(&shared, &args)),
        Verb::Erase(args) => erase::run(&shared, args),
        Verb::Doctor(args) => verdict(doctor::run(&shared, &args)),
        Verb::Restored(args) => restored::run(&shared, args),
        Verb::Drill(args) => verdict(drill::run(&shared, &args)),
        Verb::Workflow(args) => workflow::run(&shared, args),
        Verb::Other(words) => Err(other(words.first().map_or("", String::as_str))),
    }
}

/// Verbs that a later version brings.
const NOT_YET: &[&str] = &["bench", "up"];

fn other(verb: &str) -> Failure {
    if NOT_YET.contains(&verb) {
        let text = format!("`{verb}` is not yet there: a later version brings it");
        return Failure::could_not_run(text).help("`counterfoil --help` lists what is there");
    }
    Failure::could_not_run(format!("`{verb}` is no verb"))
        .help("`counterfoil --help` lists the verbs")
}

/// The configuration, if there is one, and where the store is.
struct Found {
    config: Option<Config>,
    url: StoreUrl,
    /// By a flag or a variable, not by the configuration.
    named_elsewhere: bool,
}

impl Found {
    fn new(shared: &Shared) -> Result<Self, Failure> {
        let config = Config::find(shared.config.as_deref())?;
        let named = store_url::named(shared.store.as_deref());
        let named_elsewhere = named.is_some();
        let url = store_url::find(named, config.as_ref())?;
        Ok(Self { config, url, named_elsewhere })
    }

    /// `[relay]`, or its defaults.
    fn relay(&self) -> Result<RelaySettings, Failure> {
        self.config.as_ref().map_or_else(|| Ok(RelaySettings::default()), Config::relay)
    }

    /// The folder of the archive: as given, else `[archive] dir`.
    fn archive(&self, given: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
        match (given, &self.config) {
            (Some(given), _) => Ok(Some(given.to_owned())),
            (None, Some(config)) => config.archive_dir(),
            (None, None) => Ok(None),
        }
    }

    /// Opens the store; where the configuration names it, it must have the configuration's source.
    fn open(&self) -> Result<OpenStore, Failure> {
        block_on(self.open_here())
    }

    /// The same on the runtime of the caller.
    async fn open_here(&self) -> Result<OpenStore, Failure> {
        let body_bytes_max = self.relay()?.body_bytes_max;
        let store = OpenStore::open(&self.url, Some(body_bytes_max)).await?;
        if !self.named_elsewhere {
            self.check_source(&store)?;
        }
        Ok(store)
    }

    /// Opens the store to send from it: however it is named, it must have the configuration's
    /// source.
    async fn open_to_send(&self) -> Result<OpenStore, Failure> {
        if let StoreUrl::Postgres(url) = &self.url {
            url.check_hears()?;
        }
        let store = self.open_here().await?;
        self.check_source(&store)?;
        Ok(store)
    }

    fn check_source(&self, store: &OpenStore) -> Result<(), Failure> {
        let Some(config) = &self.config else { return Ok(()) };
        let (Some(source), stored) = (config.source()?, store.source()) else { return Ok(()) };
        if *source == *stored {
            return Ok(());
        }
        let (name, url) = (config.name(), &self.url);
        let text =
            format!("{name}: `store.source` is {source:?}, but the store {url} is {stored:?}");
        Err(Failure::could_not_run(text).help(
            "a store keeps its source for ever: write its own into the configuration, or name \
             the right store",
        ))
    }
}

/// Runs `work` to its end on this thread. Each time on the same runtime, which keeps connections.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return runtime.block_on(work);
    }
    let made = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let made = made.map_err(no_runtime)?;
    RUNTIME.get_or_init(|| made).block_on(work)
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
