//! `[destination.NAME]`: what a receiver guarantees, and how this relay reaches it.
//!
//! Guarantees: the numbers fit together, credentials come from outside the file, and what only a
//! broker can do is refused. Does not: open a connection.

use counterfoil_core::domain::{
    Completion, Contract, Destination, Idempotent, OnRefusal, Pace, Span, Terms,
};
use toml::Spanned;

use super::credential::is_credential;
use super::file::{DestinationTable, Value};
use super::idempotent::{MEANINGS, Repeats};
use super::place::Page;
use super::{Config, RelaySettings, duration};
use crate::exit::Failure;

/// A lease outlives a request by more than this.
const LEASE_BEYOND_REQUEST: Span = Span::from_secs(2);
/// Default of `request_timeout`.
const REQUEST_TIMEOUT: Span = Span::from_secs(10);
/// Default of `result_bytes_max`: 64 KiB.
const RESULT_BYTES_MAX: usize = 65_536;
/// A destination, ready to be served.
#[derive(Clone, Debug)]
pub(crate) struct DestinationSettings {
    /// Its name.
    pub(crate) name: Destination,
    /// What it guarantees, and this relay's pace.
    pub(crate) terms: Terms,
    /// Where it is.
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
struct Reading<'c> {
    page: &'c Page,
    name: &'c str,
    table: &'c Spanned<DestinationTable>,
}

impl Reading<'_> {
    fn table(&self) -> &DestinationTable {
        self.table.get_ref()
    }

    fn key(&self, key: &str) -> String {
        format!("destination.{}.{key}", self.name)
    }

    /// A refusal of the table as a whole.
    fn refuse(&self, why: &str) -> Failure {
        let at = self.page.at(&self.table.span());
        Failure::could_not_run(format!("{at}: [destination.{}]: {why}", self.name))
    }

    fn refuse_value(&self, key: &str, value: &Value, why: &str) -> Failure {
        self.page.refuse_value(&self.key(key), value, why)
    }

    fn text(&self, key: &str, value: &Value) -> Result<String, Failure> {
        self.page.text(&self.key(key), value)
    }

    fn span(&self, key: &str, value: Option<&Value>, default: Span) -> Result<Span, Failure> {
        self.page.span(&self.key(key), value, default)
    }

    fn settings(&self, relay: &RelaySettings) -> Result<DestinationSettings, Failure> {
        let table = self.table();
        let name = Destination::new(self.name).map_err(|why| self.refuse(&why.to_string()))?;
        self.transport()?;
        let request_timeout =
            self.span("request_timeout", table.request_timeout.as_ref(), REQUEST_TIMEOUT)?;
        self.lease_outlives(relay.lease, request_timeout)?;
        let terms = self.terms(relay)?;
        let method = match &table.method {
            Some(value) => self.text("method", value)?,
            None => "POST".to_owned(),
        };
        let kept = table.result_bytes_max.as_ref();
        Ok(DestinationSettings {
            name,
            terms,
            url: self.url()?,
            method,
            request_timeout,
            headers: self.headers()?,
            secrets: self.secrets()?,
            result_bytes_max: self.page.size(
                &self.key("result_bytes_max"),
                kept,
                RESULT_BYTES_MAX,
            )?,
        })
    }

    fn transport(&self) -> Result<(), Failure> {
        let Some(value) = &self.table().transport else {
            return Err(self.refuse("`transport` is missing").help("add transport = \"http\""));
        };
        let transport = self.text("transport", value)?;
        if transport == "http" {
            return Ok(());
        }
        let why = format!("not yet: {transport:?} is no transport of this version; use \"http\"");
        Err(self.refuse_value("transport", value, &why))
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

    fn url(&self) -> Result<String, Failure> {
        let Some(value) = &self.table().url else {
            return Err(self
                .refuse("`url` is missing")
                .help("add url = \"http://…\", where commands are sent to"));
        };
        let url = self.text("url", value)?;
        let authority = url.split_once("://").map(|(_, rest)| rest).unwrap_or_default();
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            // Neither the line nor the value is shown: it holds a password.
            let at = self.page.at(&value.span());
            let key = self.key("url");
            let text = format!("{at}: `{key}`: the URL holds credentials, which end up in logs");
            return Err(Failure::could_not_run(text)
                .help("move them to headers = { Authorization = { env = \"NAME\" } }"));
        }
        if url.starts_with("http://") || url.starts_with("https://") {
            return Ok(url);
        }
        Err(self.refuse_value("url", value, "is no URL of the form http://… or https://…"))
    }

    fn terms(&self, relay: &RelaySettings) -> Result<Terms, Failure> {
        let (table, retry) = (self.table(), &self.table().retry);
        let mut contract = Contract::new(self.idempotent()?);
        let default = Pace::default();
        let span = |key, value: &Option<Value>, default| self.span(key, value.as_ref(), default);
        contract.give_up_after =
            span("retry.give_up_after", &retry.give_up_after, contract.give_up_after)?;
        // A lost receipt leaves time for a resend.
        let tenth = contract.give_up_after.times(1, 10);
        contract.receipt_timeout = span("receipt_timeout", &table.receipt_timeout, tenth)?;
        contract.completion = self.completion()?;
        contract.on_refusal = self.on_refusal()?;
        let attempts = retry.max_attempts.as_ref();
        let pace = Pace {
            initial: span("retry.initial", &retry.initial, default.initial)?,
            max: span("retry.max", &retry.max, default.max)?,
            max_attempts: attempts.map_or(default.max_attempts, |value| *value.get_ref()),
            lease: relay.lease,
        };
        let terms = Terms { contract, pace };
        terms.check().map_err(|why| self.refuse(&why.to_string()))?;
        Ok(terms)
    }

    fn idempotent(&self) -> Result<Idempotent, Failure> {
        let explained = |failure: Failure| MEANINGS.into_iter().fold(failure, Failure::help);
        let Some(value) = &self.table().idempotent else {
            return Err(explained(self.refuse(
                "`idempotent` is missing: say what the receiver does with a key that it has seen",
            )));
        };
        match value.get_ref() {
            Repeats::Flag(false) => Ok(Idempotent::No),
            Repeats::Flag(true) => Err(explained(self.page.refuse(
                &value.span(),
                "`idempotent = true` says too little: for how long does it keep its keys?",
            ))),
            Repeats::Window(ttl) => {
                let key_ttl = self.span("idempotent.key_ttl", Some(ttl), Span::ZERO)?;
                Ok(Idempotent::Window { key_ttl })
            }
            Repeats::Word(word) => match word.read() {
                Ok(word) if word == "forever" => Ok(Idempotent::Forever),
                Ok(_) => Err(explained(
                    self.page.refuse(&value.span(), "`idempotent` has no such value"),
                )),
                Err(why) => Err(self.page.refuse(&value.span(), &why)),
            },
        }
    }

    fn completion(&self) -> Result<Completion, Failure> {
        let Some(value) = &self.table().completion else { return Ok(Completion::Response) };
        match self.text("completion", value)?.as_str() {
            "response" => Ok(Completion::Response),
            "receipt" => Ok(Completion::Receipt),
            "accepted" => Err(self.refuse_value(
                "completion",
                value,
                "\"accepted\" is for brokers: over http a 202 says only that somebody may do it; \
                 write \"response\" or \"receipt\"",
            )),
            _ => Err(self.refuse_value(
                "completion",
                value,
                "write \"response\" (the answer completes it) or \"receipt\" (a later report does)",
            )),
        }
    }

    fn on_refusal(&self) -> Result<OnRefusal, Failure> {
        let Some(value) = &self.table().on_refusal else { return Ok(OnRefusal::Park) };
        match self.text("on_refusal", value)?.as_str() {
            "park" => Ok(OnRefusal::Park),
            "reject" => Ok(OnRefusal::Reject),
            _ => Err(self.refuse_value(
                "on_refusal",
                value,
                "write \"park\" (a refused command waits for a person) or \"reject\" (it ends)",
            )),
        }
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
