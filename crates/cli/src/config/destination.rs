//! `[destination.NAME]`: what a receiver guarantees, and how this relay reaches it.
//!
//! Guarantees: the numbers fit together, credentials come from outside the file, and what only a
//! broker can do is refused. Does not: open a connection.

use counterfoil_core::domain::{Destination, Span, Terms};
use counterfoil_relay::Limits;
use toml::Spanned;

use super::credential::is_credential;
use super::file::{DestinationTable, Value};
use super::place::Page;
use super::tls::TlsFiles;
use super::{Config, RelaySettings, duration};
use crate::exit::Failure;

/// A lease outlives a request by more than this.
const LEASE_BEYOND_REQUEST: Span = Span::from_secs(2);
/// Default of `request_timeout`.
const REQUEST_TIMEOUT: Span = Span::from_secs(10);
/// Default of `result_bytes_max`: 64 KiB.
const RESULT_BYTES_MAX: usize = 65_536;

/// How a destination is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Over HTTP.
    Http,
    /// Not at all: each command is a line in the log.
    Log {
        /// Whether the line shows the body.
        body: bool,
    },
}

/// A destination, ready to be served.
#[derive(Clone, Debug)]
pub(crate) struct DestinationSettings {
    /// Its name.
    pub(crate) name: Destination,
    /// What it guarantees, and this relay's pace.
    pub(crate) terms: Terms,
    /// How it is reached.
    pub(crate) way: Way,
    /// Where it is; may be empty where it is not reached over HTTP.
    pub(crate) url: String,
    /// The method. Default `POST`.
    pub(crate) method: String,
    /// How long one request may take.
    pub(crate) request_timeout: Span,
    /// Extra headers, read.
    pub(crate) headers: Vec<(String, String)>,
    /// Secrets that sign, read.
    pub(crate) secrets: Vec<String>,
    /// How much of an answer is kept, in bytes.
    pub(crate) result_bytes_max: usize,
    /// Where its receiver is asked, with a placeholder; `None`: it cannot be asked.
    pub(crate) ask_url: Option<String>,
    /// How much of this relay it gets.
    pub(crate) limits: Limits,
    /// Own certificates.
    pub(crate) tls: TlsFiles,
    /// Goes by the proxy that the environment names.
    pub(crate) proxy_of_env: bool,
}

impl Config {
    /// All destinations, or only those named.
    ///
    /// # Errors
    /// A value breaks a rule, a secret stands in plain text, or a name of `only` is not there.
    pub(crate) fn destinations(
        &self,
        relay: &RelaySettings,
        only: &[String],
    ) -> Result<Vec<DestinationSettings>, Failure> {
        let tables = &self.file.destination;
        if tables.is_empty() {
            let text = format!("{} names no destination, so nothing can be sent", self.name());
            return Err(Failure::could_not_run(text).help("add a table [destination.NAME]"));
        }
        if let Some(unknown) = only.iter().find(|name| !tables.contains_key(*name)) {
            let text = format!("--only {unknown}: {} has no such destination", self.name());
            let names: Vec<_> = tables.keys().map(String::as_str).collect();
            return Err(
                Failure::could_not_run(text).help(format!("name one of: {}", names.join(", ")))
            );
        }
        let all = tables.iter().map(|(name, table)| {
            let reading = Reading { page: &self.page, name, table };
            Ok((reading.settings(relay)?, only.is_empty() || only.contains(name)))
        });
        // All are checked, so that a fault shows at once and not only when its turn comes.
        let all = all.collect::<Result<Vec<_>, Failure>>()?;
        Ok(all.into_iter().filter(|(_, wanted)| *wanted).map(|(settings, _)| settings).collect())
    }
}

/// One table while it is read.
pub(super) struct Reading<'c> {
    pub(super) page: &'c Page,
    pub(super) name: &'c str,
    pub(super) table: &'c Spanned<DestinationTable>,
}

impl Reading<'_> {
    pub(super) fn table(&self) -> &DestinationTable {
        self.table.get_ref()
    }

    pub(super) fn key(&self, key: &str) -> String {
        format!("destination.{}.{key}", self.name)
    }

    /// A refusal of the table as a whole.
    pub(super) fn refuse(&self, why: &str) -> Failure {
        let at = self.page.at(&self.table.span());
        Failure::could_not_run(format!("{at}: [destination.{}]: {why}", self.name))
    }

    pub(super) fn refuse_value(&self, key: &str, value: &Value, why: &str) -> Failure {
        self.page.refuse_value(&self.key(key), value, why)
    }

    pub(super) fn text(&self, key: &str, value: &Value) -> Result<String, Failure> {
        self.page.text(&self.key(key), value)
    }

    pub(super) fn span(
        &self,
        key: &str,
        value: Option<&Value>,
        default: Span,
    ) -> Result<Span, Failure> {
        self.page.span(&self.key(key), value, default)
    }

    fn settings(&self, relay: &RelaySettings) -> Result<DestinationSettings, Failure> {
        let table = self.table();
        let name = Destination::new(self.name).map_err(|why| self.refuse(&why.to_string()))?;
        let way = self.way()?;
        let request_timeout =
            self.span("request_timeout", table.request_timeout.as_ref(), REQUEST_TIMEOUT)?;
        // A line in the log is no request.
        if way == Way::Http {
            self.lease_outlives(relay.lease, request_timeout)?;
        }
        let asked = self.asked(request_timeout)?;
        let (asking, ask_url) = asked.map(|asked| (asked.asking, asked.url)).unzip();
        let terms = self.terms(relay, asking)?;
        let method = match &table.method {
            Some(value) => self.text("method", value)?,
            None => "POST".to_owned(),
        };
        let (url, kept) = (self.url(way)?, table.result_bytes_max.as_ref());
        Ok(DestinationSettings {
            name,
            terms,
            way,
            method,
            request_timeout,
            headers: self.headers()?,
            secrets: self.secrets()?,
            result_bytes_max: self.page.size(
                &self.key("result_bytes_max"),
                kept,
                RESULT_BYTES_MAX,
            )?,
            limits: self.limits()?,
            tls: self.tls(&url, ask_url.as_deref())?,
            proxy_of_env: self.proxy_of_env()?,
            ask_url,
            url,
        })
    }

    /// `transport`, and what belongs to one of them only.
    pub(super) fn way(&self) -> Result<Way, Failure> {
        let (table, help) = (self.table(), "add transport = \"http\", or \"log\" for a dry run");
        let Some(value) = &table.transport else {
            return Err(self.refuse("`transport` is missing").help(help));
        };
        let transport = self.text("transport", value)?;
        match (transport.as_str(), &table.body) {
            ("log", body) => Ok(Way::Log { body: body.as_ref().is_some_and(|it| *it.get_ref()) }),
            ("http", None) => Ok(Way::Http),
            ("http", Some(body)) => Err(self.page.refuse(
                &body.span(),
                "`body` is for transport = \"log\": over http the body always travels",
            )),
            _ => {
                let why = format!(
                    "not yet: {transport:?} is no transport of this version; use \"http\", or \
                     \"log\" for a dry run"
                );
                Err(self.refuse_value("transport", value, &why))
            }
        }
    }

    fn lease_outlives(&self, lease: Span, request_timeout: Span) -> Result<(), Failure> {
        if lease > request_timeout.plus(LEASE_BEYOND_REQUEST) {
            return Ok(());
        }
        let why = format!(
            "relay.lease is {}, but must be longer than request_timeout + 2s, here {}: \
             a request must end before its lease does",
            duration::show(lease),
            duration::show(request_timeout.plus(LEASE_BEYOND_REQUEST)),
        );
        Err(self.refuse(&why).help("lengthen relay.lease or shorten request_timeout"))
    }

    fn url(&self, way: Way) -> Result<String, Failure> {
        let Some(value) = &self.table().url else {
            if way != Way::Http {
                return Ok(String::new());
            }
            return Err(self
                .refuse("`url` is missing")
                .help("add url = \"http://…\", where commands are sent to"));
        };
        let instead = "move them to headers = { Authorization = { env = \"NAME\" } }";
        self.page.http_url(&self.key("url"), value, instead)
    }

    fn headers(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut headers = Vec::new();
        for (name, value) in &self.table().headers {
            if is_credential(name) && value.get_ref().is_plain() {
                return Err(self.plain_secret(&format!("headers.{name}"), value));
            }
            headers.push((name.clone(), self.text(&format!("headers.{name}"), value)?));
        }
        Ok(headers)
    }

    fn secrets(&self) -> Result<Vec<String>, Failure> {
        let secrets = self.table().secrets.iter();
        secrets
            .map(|value| {
                if value.get_ref().is_plain() {
                    return Err(self.plain_secret("secrets", value));
                }
                self.text("secrets", value)
            })
            .collect()
    }

    /// Says the line, and does not show it.
    fn plain_secret(&self, key: &str, value: &Value) -> Failure {
        let (at, key) = (self.page.at(&value.span()), self.key(key));
        Failure::could_not_run(format!("{at}: `{key}`: a secret stands in plain text"))
            .help("write { env = \"NAME\" } or { file = \"PATH\" } instead")
    }
}
