//! `init`: creates a store, or upgrades its schema, or prints the schema.
//!
//! Guarantees: a second run changes nothing; a source once given stays. Does not: touch a file
//! that is no SQLite database.

use counterfoil_core::port::Store;
use counterfoil_sqlite::SqliteStore;

use crate::args::{Init, Shared};
use crate::config::{Config, store_url};
use crate::exit::{Ended, Exit, Failure};
use crate::output;

/// Does `init`.
///
/// # Errors
/// No store is named, or it cannot be created.
pub(crate) fn run(shared: &Shared, args: Init) -> Ended {
    if args.roles {
        return Err(Failure::not_yet("`--roles` (rights of PostgreSQL users)"));
    }
    let config = Config::find(shared.config.as_deref())?;
    let source = match (args.source, &config) {
        (Some(source), _) => Some(source),
        (None, Some(config)) => config.source()?,
        (None, None) => None,
    };
    let source = source.as_deref();
    if args.sql {
        let sql = counterfoil_sqlite::schema_sql(source).map_err(Failure::could_not_run)?;
        output::line(sql.trim_end())?;
        return Ok(Exit::Done);
    }
    let path = store_url::find(store_url::named(shared.store.as_deref()), config.as_ref())?;
    let store = SqliteStore::init(&path, source).map_err(Failure::could_not_run)?;
    let (path, source) = (path.display(), store.source());
    output::line(&format!("sqlite:{path} is ready; its source is {source}"))?;
    Ok(Exit::Done)
}
