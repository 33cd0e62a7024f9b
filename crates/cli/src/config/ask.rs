//! `ask` of a destination: how its receiver is asked what became of a key.
//!
//! Guarantees: the URL names the command, and `quiet` is longer than a request can live. Does
//! not: ask; a wrong URL shows by `counterfoil doctor`.

use counterfoil_core::domain::contract::MAX_ASKS;
use counterfoil_core::domain::{Asking, NotThere, Span};
use serde::Deserialize;
use toml::Spanned;

use super::code::Code;
use super::destination::Reading;
use super::duration;
use super::file::Value;
use super::url::parts;
use crate::exit::Failure;

/// A request is surely over so long after its timeout.
const QUIET_BEYOND_REQUEST: Span = Span::from_secs(1);
/// What the URL of a question must hold one of.
pub(super) const PLACEHOLDERS: [&str; 2] = ["{command_id}", "{key}"];

/// `ask = { … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskTable {
    url: Option<Value>,
    quiet: Option<Value>,
    max_asks: Option<Spanned<u32>>,
    not_there: Option<Spanned<NotThereTable>>,
}

/// `not_there = { … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotThereTable {
    status: Option<Spanned<i64>>,
    json: Option<Value>,
    r#in: Option<Spanned<Vec<Code>>>,
}

/// How a receiver is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The part that is stored with the contract.
    pub(crate) asking: Asking,
    /// Where, with a placeholder.
    pub(crate) url: String,
}

impl Reading<'_> {
    /// `ask`, if it is there.
    pub(super) fn asked(&self, request_timeout: Span) -> Result<Option<Asked>, Failure> {
        let table = self.table();
        let Some(ask) = &table.ask else {
            if let Some(asks) = &table.max_asks {
                let why = "`max_asks` is given, but the destination cannot be asked: add ask = \
                           { url, quiet }, or remove it";
                return Err(self.page.refuse(&asks.span(), why));
            }
            return Ok(None);
        };
        let (span, ask) = (ask.span(), ask.get_ref());
        let (Some(url), Some(quiet)) = (&ask.url, &ask.quiet) else {
            let missing = if ask.url.is_none() { "url" } else { "quiet" };
            let why = format!("`{}.{missing}` is missing", self.key("ask"));
            return Err(self.page.refuse(&span, &why).help(
                "write ask = { url = \"https://…/{command_id}\", quiet = \"60s\" }; quiet is \
                 longer than a request can live, queues before the receiver included",
            ));
        };
        let mut asking = Asking::new(self.quiet(quiet, request_timeout)?);
        asking.max_asks = self.max_asks(ask)?;
        asking.not_there = match &ask.not_there {
            Some(not_there) => Some(self.not_there(not_there)?),
            None => None,
        };
        Ok(Some(Asked { asking, url: self.ask_url(url)? }))
    }

    fn ask_url(&self, value: &Value) -> Result<String, Failure> {
        let instead = "the `headers` of the destination go with a question too: put an \
                       Authorization there";
        let url = self.page.http_url(&self.key("ask.url"), value, instead)?;
        let named = parts(&url);
        let rest = PLACEHOLDERS.iter().fold(named.rest.to_owned(), |rest, p| rest.replace(p, ""));
        let refuse = |why: &str| Err(self.refuse_value("ask.url", value, why));
        if rest.contains('#') {
            return refuse("has a fragment, which is never sent: remove it");
        }
        if rest.contains(['{', '}']) || named.authority.contains(['{', '}']) {
            return refuse("knows {command_id} and {key} only, in the path or the query");
        }
        if rest.len() == named.rest.len() {
            return refuse(
                "names no command: write {command_id} (the id) or {key} (as it is sent) where \
                 the receiver expects it",
            );
        }
        Ok(url)
    }

    fn quiet(&self, value: &Value, request_timeout: Span) -> Result<Span, Failure> {
        let quiet = self.span("ask.quiet", Some(value), Span::ZERO)?;
        let least = request_timeout.plus(QUIET_BEYOND_REQUEST);
        if quiet >= least {
            return Ok(quiet);
        }
        let why = format!(
            "must be longer than a request can live: at least request_timeout + 1s, here {}, \
             and more where queues stand before the receiver; else a \"not there\" could be said \
             before the request arrives",
            duration::show(least)
        );
        Err(self.refuse_value("ask.quiet", value, &why))
    }

    fn max_asks(&self, ask: &AskTable) -> Result<u32, Failure> {
        let beside = &self.table().max_asks;
        let given = match (&ask.max_asks, beside) {
            (Some(_), Some(beside)) => {
                let why = "`max_asks` is given twice, here and inside `ask`: keep one";
                return Err(self.page.refuse(&beside.span(), why));
            }
            (given, beside) => given.as_ref().or(beside.as_ref()),
        };
        match given {
            Some(asks) if *asks.get_ref() == 0 => Err(self
                .page
                .refuse(&asks.span(), "`max_asks` is zero: give at least 1, or leave `ask` away")),
            Some(asks) => Ok(*asks.get_ref()),
            None => Ok(MAX_ASKS),
        }
    }

    fn not_there(&self, table: &Spanned<NotThereTable>) -> Result<NotThere, Failure> {
        let key = self.key("ask.not_there");
        let refuse = |why: &str| {
            let failure = self.page.refuse(&table.span(), &format!("`{key}`: {why}"));
            failure.help(
                "write not_there = { status = 404, json = \"/error\", in = [\"no_such_key\"] }; \
                 or leave it away: a bare 404 then counts after a control question",
            )
        };
        let table = table.get_ref();
        let Some(status) = &table.status else { return Err(refuse("`status` is missing")) };
        let Some(code) = status_code(*status.get_ref()) else {
            return Err(self.page.refuse(&status.span(), "a status is 100 to 599"));
        };
        let (json, one_of) = match (&table.json, &table.r#in) {
            (None, None) if (200..300).contains(&code) => {
                return Err(refuse("a 2xx alone would take every answer for \"not there\""));
            }
            (None, None) => (None, Vec::new()),
            (Some(json), Some(codes)) => {
                let json = self.pointer("ask.not_there.json", json)?;
                (Some(json), self.codes("ask.not_there.in", codes)?)
            }
            _ => return Err(refuse("`json` and `in` go together: a place in the body, and words")),
        };
        Ok(NotThere { status: code, json, one_of })
    }
}

/// A status of HTTP.
pub(super) fn status_code(number: i64) -> Option<u16> {
    u16::try_from(number).ok().filter(|code| (100..600).contains(code))
}
