//! `doctor`: looks whether store, configuration and receivers fit together.
//!
//! Guarantees: reads only, but for the control question, a GET that never acts; every check is
//! one line with a verdict, and what is wrong has a way out. Does not: send a command, or try a
//! destination's `url`.

mod check;
mod destination;
mod file;
mod postgres;
mod question;
mod retention;
mod table;
mod trigger;
mod whole;

use std::path::Path;
use std::sync::Arc;

use counterfoil_core::port::Store;
use rusqlite::Connection;
use serde_json::json;

use super::audit::Kept;
use super::{Found, block_on};
use crate::args::{Doctor, Shared};
use crate::config::store_url::{self, StoreUrl};
use crate::config::{Config, DestinationSettings, RelaySettings, warnings};
use crate::exit::{Ended, Exit, Failure};
use crate::output;
use crate::store::OpenStore;
use check::{Check, Verdict};
use destination::Stored;
use retention::Named;
pub(super) use whole::must_be_whole;

/// Does `doctor`.
///
/// # Errors
/// The configuration cannot be read, or the store or the receiver's book cannot be opened; then
/// that check is told.
pub(crate) fn run(shared: &Shared, args: &Doctor) -> Ended {
    let named = named(args)?;
    let found = Found::new(shared)?;
    let patient = Patient::new(&found)?;
    let is_file = matches!(found.url, StoreUrl::Sqlite(_));
    let mut checks: Vec<_> = is_file.then(file::library).into_iter().collect();
    let store = match block_on(OpenStore::open(&found.url, None)) {
        Ok(store) => store,
        Err(error) => {
            // The verb could not run, and what it saw is told all the same.
            checks.push(Check::wrong("store", error.text(), "nothing more can be looked at"));
            print(&checks, args.json)?;
            return Err(error);
        }
    };
    let seen = patient.seen(&found.url, &store.source())?;
    if !table::is_whole(&seen.checks) {
        // Whatever else is looked at would stumble over what is missing.
        checks.extend(seen.checks);
        print(&checks, args.json)?;
        return Ok(Exit::Refused);
    }
    checks.extend(patient.checks(&seen, &store)?);
    match patient.retention(&seen, named.as_ref(), &store.source()) {
        Ok(compared) => checks.extend(compared),
        Err(error) => {
            checks.push(Check::wrong("retention", error.text(), error.ways_out()));
            print(&checks, args.json)?;
            return Err(error);
        }
    }
    print(&checks, args.json)?;
    let is_well = checks.iter().all(|check| check.verdict != Verdict::Wrong);
    Ok(if is_well { Exit::Done } else { Exit::Refused })
}

/// The receiver's book, if one was named.
fn named(args: &Doctor) -> Result<Option<Named<'_>>, Failure> {
    let Some(inbox) = &args.inbox else {
        if args.destination.is_empty() {
            return Ok(None);
        }
        let text = "--destination says whom a receiver serves, and none is looked at";
        return Err(Failure::could_not_run(text).help("add --inbox"));
    };
    let inbox = store_url::parse("--inbox", inbox)?;
    Ok(Some(Named { inbox, serves: &args.destination }))
}

/// What was read of the store.
struct Seen {
    /// What only this kind of store has.
    checks: Vec<Check>,
    /// The stored destinations.
    stored: Vec<Stored>,
    /// By destination, how long the store's own inbox keeps the keys of its own commands.
    own: Vec<(String, Kept)>,
}

/// What the configuration at hand says.
struct Patient<'f> {
    config: Option<&'f Config>,
    relay: RelaySettings,
    destinations: Vec<DestinationSettings>,
    notes: Vec<Check>,
}

impl<'f> Patient<'f> {
    /// Reads all of the configuration, as a relay would.
    fn new(found: &'f Found) -> Result<Self, Failure> {
        let relay = found.relay()?;
        let config = found.config.as_ref();
        let Some(config) = config.filter(|config| !config.destination_names().is_empty()) else {
            let text = "no destination is configured here, so contracts cannot be compared, and \
                        nobody can say what is unserved";
            let notes = vec![Check::note("config", text)];
            return Ok(Self { config, relay, destinations: Vec::new(), notes });
        };
        let destinations = config.destinations(&relay, &[])?;
        let announce = config.announce()?;
        let notes = warnings(&destinations, config.api()?.as_ref(), announce.as_ref());
        let notes = notes
            .into_iter()
            .map(|warning| Check::note("config", warning.text).of(&warning.destination));
        let notes = notes.collect();
        Ok(Self { config: Some(config), relay, destinations, notes })
    }

    fn checks(&self, seen: &Seen, store: &OpenStore) -> Result<Vec<Check>, Failure> {
        let mut checks = seen.checks.clone();
        checks.extend(self.notes.iter().cloned());
        let configured = self.config.filter(|_| !self.destinations.is_empty());
        block_on(async {
            let status = store.status().await?;
            checks.extend(destination::checks(&seen.stored, &self.destinations, &status));
            if let Some(config) = configured {
                for destination in &self.destinations {
                    let asked = question::check(config, &self.relay, destination, store).await?;
                    checks.extend(asked);
                }
            }
            Ok(checks)
        })
    }

    /// Both ends of what is promised about keys.
    fn retention(
        &self,
        seen: &Seen,
        named: Option<&Named<'_>>,
        source: &str,
    ) -> Result<Vec<Check>, Failure> {
        let about = (named, source);
        block_on(retention::checks(seen, &self.destinations, self.relay.lease, about))
    }

    /// What is read of the store.
    fn seen(&self, url: &StoreUrl, stored: &Arc<str>) -> Result<Seen, Failure> {
        let source = self.source()?;
        match url {
            StoreUrl::Sqlite(path) => {
                let look = Look::new(path)?;
                let mut checks = file::checks(&look, &source, stored)?;
                checks.extend(table::checks(&look)?);
                checks.extend(trigger::checks(&look)?);
                if !table::is_whole(&checks) {
                    return Ok(Seen { checks, stored: Vec::new(), own: Vec::new() });
                }
                let own = destination::own_inbox(&look, stored)?;
                Ok(Seen { checks, stored: destination::stored(&look)?, own })
            }
            StoreUrl::Postgres(url) => block_on(postgres::look(url, source.as_deref(), stored)),
        }
    }

    fn source(&self) -> Result<Option<String>, Failure> {
        self.config.map_or(Ok(None), Config::source)
    }
}

/// The file, as its own connections have it, for reading.
struct Look<'p> {
    path: &'p Path,
    connection: Connection,
    version: i64,
}

impl<'p> Look<'p> {
    /// Opened as a store opens it, then for reading only.
    fn new(path: &'p Path) -> Result<Self, Failure> {
        let (connection, schema) =
            counterfoil_sqlite::open_own(path).map_err(Failure::could_not_run)?;
        let look = Self { path, connection, version: schema.version };
        look.connection.pragma_update(None, "query_only", true).map_err(|why| look.failed(&why))?;
        Ok(look)
    }

    fn failed(&self, error: &rusqlite::Error) -> Failure {
        Failure::could_not_run(format!("{}: SQLite says: {error}", self.path.display()))
    }
}

fn print(checks: &[Check], is_json: bool) -> Result<(), Failure> {
    if is_json {
        let well = checks.iter().all(|check| check.verdict != Verdict::Wrong);
        let checks: Vec<_> = checks.iter().map(Check::json).collect();
        return output::line(&json!({ "well": well, "checks": checks }).to_string());
    }
    let lines: Vec<_> = checks.iter().map(Check::tell).collect();
    output::line(&lines.join("\n"))
}
