//! Which store: from a flag, the environment, or the configuration.
//!
//! Guarantees: the first of `--store`, `COUNTERFOIL_STORE`, `[store] url` that is there rules.
//! Does not: open it. A relative path is relative to the current directory, also in a file.

use std::path::PathBuf;

use super::Config;
use crate::exit::Failure;

/// The flag that names a store.
const STORE: &str = "--store";
/// The environment variable that names a store.
pub(crate) const VARIABLE: &str = "COUNTERFOIL_STORE";

/// Reads `sqlite:path`, the value of `flag` or of what stands for it.
///
/// # Errors
/// What is wrong with it and how to write it.
pub(crate) fn parse(flag: &str, url: &str) -> Result<PathBuf, Failure> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        if path.is_empty() || path == ":memory:" || path.starts_with(":memory:") {
            return Err(Failure::could_not_run(format!("{url:?} names no file"))
                .help("write sqlite:PATH; relays and writers share the file"));
        }
        if path.starts_with("//") && !path.starts_with("///") {
            return Err(Failure::could_not_run(format!("{url:?} has a host, and SQLite has none"))
                .help("write sqlite:PATH, such as sqlite:orders.db or sqlite:/srv/orders.db"));
        }
        return Ok(PathBuf::from(path));
    }
    let scheme = url.split(':').next().unwrap_or_default();
    if matches!(scheme, "postgres" | "postgresql") {
        // The URL may hold a password: only its scheme is shown.
        return Err(
            Failure::not_yet(&format!("a {scheme}:// store")).help("use sqlite:PATH for now")
        );
    }
    if flag == STORE {
        return Err(Failure::could_not_run("the store is no URL of the form sqlite:PATH")
            .help("write, for instance, --store sqlite:orders.db"));
    }
    Err(Failure::could_not_run(format!("{flag} is no URL of the form sqlite:PATH"))
        .help(format!("write, for instance, {flag} sqlite:warehouse.db")))
}

/// The URL of `--store`, else of `COUNTERFOIL_STORE`.
pub(crate) fn named(flag: Option<&str>) -> Option<String> {
    let variable = || std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
    flag.map(str::to_owned).or_else(variable)
}

/// The store's file: `named`, else `[store] url`.
///
/// # Errors
/// None is given, or the one given is no store URL.
pub(crate) fn find(named: Option<String>, config: Option<&Config>) -> Result<PathBuf, Failure> {
    let url = match (named, config) {
        (Some(url), _) => Some(url),
        (None, Some(config)) => config.store_url()?,
        (None, None) => None,
    };
    let Some(url) = url else {
        return Err(Failure::could_not_run("no store is named").help(
            "give --store sqlite:PATH, set COUNTERFOIL_STORE, or write [store] url into \
             ./counterfoil.toml or the file of --config",
        ));
    };
    parse(STORE, &url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sqlite_url_is_a_path() {
        assert_eq!(parse(STORE, "sqlite:orders.db"), Ok(PathBuf::from("orders.db")));
        assert_eq!(parse(STORE, "sqlite:/a b/订单.db"), Ok(PathBuf::from("/a b/订单.db")));
    }

    #[test]
    fn other_urls_are_refused_without_their_passwords() {
        let refused = parse(STORE, "postgres://me:hunter2@db/x").unwrap_err().whole();
        assert!(refused.contains("not yet: a postgres:// store"), "{refused}");
        assert!(!refused.contains("hunter2"), "{refused}");
        for url in ["orders.db", "sqlite:", "sqlite::memory:", "sqlite://a.db", "mysql://x", ""] {
            let refused = parse(STORE, url).unwrap_err().whole();
            assert!(refused.starts_with("[2]") && refused.contains("sqlite:PATH"), "{refused}");
        }
    }
}
