//! `init`: creates a store, or upgrades its schema, or prints the schema or its roles.
//!
//! Guarantees: a second run changes nothing; a source once given stays; no store is called ready of
//! which something is missing. Does not: touch a file that is no SQLite database, or a schema of
//! PostgreSQL that is somebody else's.

use counterfoil_core::port::Store;

use super::block_on;
use super::doctor::must_be_whole;
use crate::args::{Init, Shared};
use crate::config::Config;
use crate::config::store_url::{self, StoreUrl};
use crate::exit::{Ended, Exit, Failure};
use crate::output;
use crate::store::OpenStore;

/// Does `init`.
///
/// # Errors
/// No store is named, or it cannot be created.
pub(crate) fn run(shared: &Shared, args: Init) -> Ended {
    let config = Config::find(shared.config.as_deref())?;
    let named = store_url::named(shared.store.as_deref());
    if args.roles {
        let text = roles(&store_url::find(named, config.as_ref())?)?;
        output::line(text.trim_end())?;
        return Ok(Exit::Done);
    }
    let source = match (args.source, &config) {
        (Some(source), _) => Some(source),
        (None, Some(config)) => config.source()?,
        (None, None) => None,
    };
    let source = source.as_deref();
    if args.sql {
        // Without a store it is the schema of a file.
        let is_named = named.is_some() || config.as_ref().is_some_and(Config::names_a_store);
        let url = if is_named { Some(store_url::find(named, config.as_ref())?) } else { None };
        output::line(schema(url.as_ref(), source)?.trim_end())?;
        return Ok(Exit::Done);
    }
    let url = store_url::find(named, config.as_ref())?;
    let store = block_on(OpenStore::init(&url, source))?;
    block_on(must_be_whole(&url))?;
    let source = store.source();
    let scheme = if matches!(url, StoreUrl::Sqlite(_)) { "sqlite:" } else { "" };
    output::line(&format!("{scheme}{url} is ready; its source is {source}"))?;
    Ok(Exit::Done)
}

fn schema(url: Option<&StoreUrl>, source: Option<&str>) -> Result<String, Failure> {
    match url {
        None | Some(StoreUrl::Sqlite(_)) => {
            counterfoil_sqlite::schema_sql(source).map_err(Failure::could_not_run)
        }
        Some(StoreUrl::Postgres(url)) => {
            let schema = &url.options.schema;
            counterfoil_postgres::schema_sql(schema, source).map_err(Failure::could_not_run)
        }
    }
}

fn roles(url: &StoreUrl) -> Result<String, Failure> {
    match url {
        StoreUrl::Postgres(url) => {
            counterfoil_postgres::roles_sql(&url.options.schema).map_err(Failure::could_not_run)
        }
        StoreUrl::Sqlite(_) => {
            let text = "--roles prints the rights of PostgreSQL roles, and SQLite has none: who \
                        may write the file may do all";
            Err(Failure::could_not_run(text).help("leave it away, or give --store postgres://…"))
        }
    }
}
