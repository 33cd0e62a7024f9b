//! `[telemetry]`: where traces go.
//!
//! Guarantees: a credential never stands in the file. Does not: read the variables of
//! OpenTelemetry, which rule over this table; see `telemetry`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::credential::is_credential;
use super::file::Value;
use super::url::parts;
use super::{Config, Page};
use crate::exit::Failure;

/// `[telemetry]` as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TelemetryTable {
    endpoint: Option<Value>,
    service: Option<Value>,
    #[serde(default)]
    headers: BTreeMap<String, Value>,
}

/// `[telemetry]`, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TelemetrySettings {
    /// The collector's URL, without the path of traces and without a `/` at its end.
    pub(crate) endpoint: Option<String>,
    /// What this relay is called in traces.
    pub(crate) service: Option<String>,
    /// What each request to the collector carries besides.
    pub(crate) headers: BTreeMap<String, String>,
}

impl Config {
    /// `[telemetry]`, or nothing of it.
    ///
    /// # Errors
    /// A value breaks a rule, or a secret stands in plain text.
    pub(crate) fn telemetry(&self) -> Result<TelemetrySettings, Failure> {
        let Some(table) = &self.file.telemetry else { return Ok(TelemetrySettings::default()) };
        let (page, table) = (&self.page, table.get_ref());
        let endpoint = table.endpoint.as_ref().map(|value| page.endpoint(value)).transpose()?;
        let service = page.optional("telemetry.service", table.service.as_ref())?;
        if let Some(value) = &table.service
            && service.as_deref() == Some("")
        {
            let why = "is empty: give a name, or leave it out";
            return Err(page.refuse_value("telemetry.service", value, why));
        }
        let mut headers = BTreeMap::new();
        for (name, value) in &table.headers {
            headers.insert(name.clone(), page.header(name, value)?);
        }
        Ok(TelemetrySettings { endpoint, service, headers })
    }
}

impl Page {
    fn endpoint(&self, value: &Value) -> Result<String, Failure> {
        let key = "telemetry.endpoint";
        let instead = "move them to headers = { Authorization = { env = \"NAME\" } }";
        let url = self.http_url(key, value, instead)?;
        if parts(&url).rest.contains(['?', '#']) {
            let why = "holds a query or a fragment: write scheme, host and perhaps a path";
            return Err(self.refuse_value(key, value, why));
        }
        Ok(url.trim_end_matches('/').to_owned())
    }

    fn header(&self, name: &str, value: &Value) -> Result<String, Failure> {
        let key = format!("telemetry.headers.{name}");
        if is_credential(name) && value.get_ref().is_plain() {
            let at = self.at(&value.span());
            let text = format!("{at}: `{key}`: a secret stands in plain text");
            return Err(Failure::could_not_run(text)
                .help("write { env = \"NAME\" } or { file = \"PATH\" } instead"));
        }
        self.text(&key, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<TelemetrySettings, Failure> {
        Config::parse("counterfoil.toml".into(), text.into())?.telemetry()
    }

    #[test]
    fn a_collector_is_a_url_with_headers_and_a_name() {
        let settings = read(
            "[telemetry]\nendpoint = \"http://otel:4318/\"\nservice = \"shop\"\n\
             headers = { X-Scope-OrgID = \"7\" }\n",
        )
        .unwrap();
        assert_eq!(settings.endpoint.as_deref(), Some("http://otel:4318"));
        assert_eq!(settings.service.as_deref(), Some("shop"));
        assert_eq!(settings.headers["X-Scope-OrgID"], "7");
        assert_eq!(read(""), Ok(TelemetrySettings::default()));
    }

    #[test]
    fn what_breaks_a_rule_is_refused_by_its_name_and_no_secret_is_shown() {
        for (line, why) in [
            ("endpiont = \"http://a\"", "unknown field `endpiont`"),
            ("endpoint = \"otel:4318\"", "telemetry.endpoint"),
            ("endpoint = \"http://me:hunter2@a\"", "holds credentials"),
            ("endpoint = \"http://a/?key=1\"", "holds a query"),
            ("service = \"\"", "is empty"),
            ("headers = { authorization = \"Bearer hunter2\" }", "a secret stands in plain"),
            ("headers = { x-api-key = { env = \"COUNTERFOIL_NO_SUCH\" } }", "COUNTERFOIL_NO_SUCH"),
        ] {
            let refused = read(&format!("[telemetry]\n{line}\n")).unwrap_err().whole();
            assert!(refused.contains(why), "{line}: {refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }
}
