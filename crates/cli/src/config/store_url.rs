//! Which store: from a flag, the environment, or the configuration.
//!
//! Guarantees: the first of `--store`, `COUNTERFOIL_STORE`, `[store] url` that is there rules; a
//! password is never shown. Does not: open it. A relative path is relative to the current
//! directory, also in a file.

use std::fmt;
use std::path::PathBuf;

use super::Config;
use super::postgres_url::{PostgresUrl, holds_password};
use crate::exit::Failure;

/// The flag that names a store.
const STORE: &str = "--store";
/// The environment variable that names a store.
pub(crate) const VARIABLE: &str = "COUNTERFOIL_STORE";

/// A store's URL, read.
#[derive(Clone, Debug)]
pub(crate) enum StoreUrl {
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    /// `postgres://…` or `postgresql://…`.
    Postgres(Box<PostgresUrl>),
}

/// For people: the path of the file, or the server without its password.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "{}", path.display()),
            Self::Postgres(url) => write!(f, "{url}"),
        }
    }
}

/// A store's URL as it was given.
#[derive(Clone)]
pub(crate) struct Named {
    url: String,
    by_flag: bool,
}

/// Reads the value of `flag`. A command line is seen by everybody on the machine, so a password in
/// it is refused.
///
/// # Errors
/// What is wrong with it and how to write it.
pub(crate) fn parse(flag: &str, url: &str) -> Result<StoreUrl, Failure> {
    if holds_password(url) {
        let text = format!("{flag}: the URL holds a password, which a process list shows");
        return Err(Failure::could_not_run(text).help(
            "leave it away: give it by PGPASSFILE (lines of host:port:database:user:password, \
             readable by you alone), or put the whole URL into [store] url = { env = \"NAME\" }",
        ));
    }
    read(flag, url)
}

/// The same from where a password may stand.
fn read(from: &str, url: &str) -> Result<StoreUrl, Failure> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        if path.is_empty() || path == ":memory:" || path.starts_with(":memory:") {
            return Err(Failure::could_not_run(format!("{url:?} names no file"))
                .help("write sqlite:PATH; relays and writers share the file"));
        }
        if path.starts_with("//") && !path.starts_with("///") {
            return Err(Failure::could_not_run(format!("{url:?} has a host, and SQLite has none"))
                .help("write sqlite:PATH, such as sqlite:orders.db or sqlite:/srv/orders.db"));
        }
        return Ok(StoreUrl::Sqlite(PathBuf::from(path)));
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return PostgresUrl::parse(from, url).map(|url| StoreUrl::Postgres(Box::new(url)));
    }
    let (what, example) = match from {
        STORE => ("the store", "--store sqlite:orders.db".to_owned()),
        from => (from, format!("{from} sqlite:warehouse.db")),
    };
    // It may hold a password: it is not shown.
    let text = format!("{what} is no URL of the form sqlite:PATH or postgres://…");
    let help =
        format!("write, for instance, {example}, or postgres://USER@HOST/DATABASE in its place");
    Err(Failure::could_not_run(text).help(help))
}

/// The URL of `--store`, else of `COUNTERFOIL_STORE`.
pub(crate) fn named(flag: Option<&str>) -> Option<Named> {
    let variable = || std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
    match flag {
        Some(url) => Some(Named { url: url.to_owned(), by_flag: true }),
        None => variable().map(|url| Named { url, by_flag: false }),
    }
}

/// The store: `named`, else `[store] url`.
///
/// # Errors
/// None is given, or the one given is no store URL.
pub(crate) fn find(named: Option<Named>, config: Option<&Config>) -> Result<StoreUrl, Failure> {
    match (named, config) {
        (Some(Named { url, by_flag: true }), _) => return parse(STORE, &url),
        (Some(Named { url, .. }), _) => return read(VARIABLE, &url),
        (None, Some(config)) => {
            if let Some(url) = config.store_url()? {
                return read(&format!("{}: `store.url`", config.name()), &url);
            }
        }
        (None, None) => {}
    }
    Err(Failure::could_not_run("no store is named").help(
        "give --store sqlite:PATH or --store postgres://…, set COUNTERFOIL_STORE, or write \
         [store] url into ./counterfoil.toml or the file of --config",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sqlite_url_is_a_path() {
        for path in ["orders.db", "/a b/订单.db"] {
            match parse(STORE, &format!("sqlite:{path}")) {
                Ok(StoreUrl::Sqlite(read)) => assert_eq!(read, PathBuf::from(path)),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_password_on_the_command_line_is_refused_and_not_shown() {
        for url in ["postgres://me:hunter2@db/x", "postgresql://db/x?password=hunter2"] {
            let refused = parse(STORE, url).unwrap_err().whole();
            assert!(refused.contains("--store: the URL holds a password"), "{refused}");
            assert!(refused.contains("PGPASSFILE"), "{refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
        }
        let allowed = read(VARIABLE, "postgres://me:hunter2@db/x").unwrap();
        assert_eq!(allowed.to_string(), "postgres://me@db/x");
        assert!(!format!("{allowed:?}").contains("hunter2"));
    }

    #[test]
    fn other_urls_are_refused_and_not_shown() {
        for url in ["orders.db", "sqlite:", "sqlite::memory:", "sqlite://a.db", "mysql://x", ""] {
            let refused = parse(STORE, url).unwrap_err().whole();
            assert!(refused.starts_with("[2]") && refused.contains("sqlite:PATH"), "{refused}");
        }
        let refused = parse(STORE, "mysql://me:hunter2@db/x").unwrap_err().whole();
        assert!(!refused.contains("hunter2"), "{refused}");
    }
}
