//! `counterfoil.toml`: what is written there, and what it means.
//!
//! Guarantees: an unknown key and a value that breaks a rule are refused before anything is sent,
//! with the line and the way out. Does not: read the variables and files of secrets for verbs that
//! do not need them.

mod announce;
mod api;
mod ask;
mod code;
mod credential;
pub(crate) mod destination;
pub(crate) mod duration;
mod expect;
mod file;
mod habits;
mod idempotent;
mod limits;
mod password_file;
mod place;
pub(crate) mod postgres_url;
mod relay;
mod size;
pub(crate) mod store_url;
mod telemetry;
mod terms;
mod text;
mod tls;
mod url;
mod warning;

use std::ops::Range;
use std::path::{Path, PathBuf};

use counterfoil_core::domain::Span;

use crate::exit::Failure;
use file::{File, Value};
use place::Page;

pub(crate) use api::ApiSettings;
pub(crate) use destination::DestinationSettings;
pub(crate) use relay::RelaySettings;
pub(crate) use telemetry::TelemetrySettings;
pub(crate) use warning::{Warning, warnings};

/// The file that is read where `--config` is not given and it exists.
pub(crate) const DEFAULT_FILE: &str = "counterfoil.toml";

/// A configuration file that parsed.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    page: Page,
    file: File,
}

impl Config {
    /// Reads `path`.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, or has a key that is unknown or not yet known.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::could_not_run(format!("the configuration {name} cannot be read: {error}"))
                .help("name another file with --config")
        })?;
        Self::parse(name, text)
    }

    fn parse(name: String, text: String) -> Result<Self, Failure> {
        let page = Page { name, text };
        match toml::from_str(&page.text) {
            Ok(file) => Ok(Self { page, file }),
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let why = error.message();
                if credential::may_hold_one(page.line(&span)) {
                    return Err(Failure::could_not_run(format!("{}: {why}", page.at(&span))));
                }
                Err(page.refuse(&span, why))
            }
        }
    }

    /// The file given, or `./counterfoil.toml` where there is one.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub(crate) fn find(given: Option<&Path>) -> Result<Option<Self>, Failure> {
        let default = Path::new(DEFAULT_FILE);
        match given {
            Some(path) => Self::read(path).map(Some),
            None if default.exists() => Self::read(default).map(Some),
            None => Ok(None),
        }
    }

    /// What the file is called.
    pub(crate) fn name(&self) -> &str {
        &self.page.name
    }

    /// `[store] url`.
    ///
    /// # Errors
    /// A variable or file is missing, or a password stands in the file itself.
    pub(crate) fn store_url(&self) -> Result<Option<String>, Failure> {
        let Some(value) = &self.file.store.url else { return Ok(None) };
        let url = self.page.text("store.url", value)?;
        if value.get_ref().is_plain() && postgres_url::holds_password(&url) {
            let at = self.page.at(&value.span());
            let text =
                format!("{at}: `store.url`: the URL holds credentials, a secret in plain text");
            return Err(Failure::could_not_run(text).help(
                "write url = { env = \"NAME\" } or { file = \"PATH\" }, or leave the password to \
                 PGPASSFILE",
            ));
        }
        Ok(Some(url))
    }

    /// Whether `[store] url` is there.
    pub(crate) const fn names_a_store(&self) -> bool {
        self.file.store.url.is_some()
    }

    /// `[store] source`.
    ///
    /// # Errors
    /// A variable or file is missing.
    pub(crate) fn source(&self) -> Result<Option<String>, Failure> {
        self.page.optional("store.source", self.file.store.source.as_ref())
    }

    /// `[audit] expect`, each with its kind.
    ///
    /// # Errors
    /// A variable or file is missing.
    pub(crate) fn expect(&self) -> Result<Vec<(String, Option<String>)>, Failure> {
        let queries = self.file.audit.expect.iter();
        queries
            .map(|query| {
                let sql = self.page.text("audit.expect", &query.sql)?;
                Ok((sql, self.page.optional("audit.expect.kind", query.kind.as_ref())?))
            })
            .collect()
    }

    /// `[archive] dir`.
    ///
    /// # Errors
    /// A variable or file is missing, or the path is empty.
    pub(crate) fn archive_dir(&self) -> Result<Option<PathBuf>, Failure> {
        let Some(value) = &self.file.archive.dir else { return Ok(None) };
        let path = self.page.text("archive.dir", value)?;
        if path.is_empty() {
            return Err(self.page.refuse_value("archive.dir", value, "is empty: name a folder"));
        }
        Ok(Some(PathBuf::from(path)))
    }

    /// The names of the destinations, sorted.
    pub(crate) fn destination_names(&self) -> Vec<String> {
        self.file.destination.keys().cloned().collect()
    }

    /// Whether the destination of this name is a line in the log, as far as the file itself says.
    pub(crate) fn is_logged(&self, name: &str) -> bool {
        let table = self.file.destination.get(name).map(toml::Spanned::get_ref);
        let transport = table.and_then(|table| table.transport.as_ref());
        transport.is_some_and(|it| it.get_ref().read().as_deref() == Ok("log"))
    }
}

impl Page {
    /// A refusal that shows its line.
    fn refuse(&self, span: &Range<usize>, why: &str) -> Failure {
        Failure::could_not_run(format!("{}: {why}\n{}", self.at(span), self.caret(span)))
    }

    /// A refusal of a value, whose line is shown only if the value is no secret of elsewhere.
    fn refuse_value(&self, key: &str, value: &Value, why: &str) -> Failure {
        if value.get_ref().is_plain() && !value.span().is_empty() {
            self.refuse(&value.span(), &format!("`{key}`: {why}"))
        } else {
            Failure::could_not_run(format!("{}: `{key}`: {why}", self.at(&value.span())))
        }
    }

    fn text(&self, key: &str, value: &Value) -> Result<String, Failure> {
        let read = value.get_ref().read();
        read.map_err(|why| self.refuse_value(key, value, &why))
    }

    fn optional(&self, key: &str, value: Option<&Value>) -> Result<Option<String>, Failure> {
        value.map(|value| self.text(key, value)).transpose()
    }

    /// A length of time greater than zero.
    fn span(&self, key: &str, value: Option<&Value>, default: Span) -> Result<Span, Failure> {
        let Some(value) = value else { return Ok(default) };
        let text = self.text(key, value)?;
        let span = duration::parse(&text).map_err(|why| self.refuse_value(key, value, &why))?;
        if span == Span::ZERO {
            return Err(self.refuse_value(key, value, "is zero: give a positive length of time"));
        }
        Ok(span)
    }

    fn size(&self, key: &str, value: Option<&Value>, default: usize) -> Result<usize, Failure> {
        let Some(value) = value else { return Ok(default) };
        let text = self.text(key, value)?;
        size::parse(&text).map_err(|why| self.refuse_value(key, value, &why))
    }
}

#[cfg(test)]
mod answers_tests;
#[cfg(test)]
mod api_tests;
#[cfg(test)]
mod log_tests;
#[cfg(test)]
mod tests;
