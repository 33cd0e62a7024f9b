//! `tls` and `proxy` of a destination: whom to trust, who to be, and by which way to go.
//!
//! Guarantees: a certificate comes with its key, and none of it is given where nothing is
//! encrypted. Does not: read the files; the transport does, before anything is sent.

use std::path::PathBuf;

use serde::Deserialize;

use super::destination::Reading;
use super::file::Value;
use crate::exit::Failure;

/// `tls = { … }`; paths of PEM files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TlsTable {
    ca: Option<Value>,
    cert: Option<Value>,
    key: Option<Value>,
}

/// Paths of PEM files, relative to the current directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// Whom to trust instead of the system's roots.
    pub(crate) ca: Option<PathBuf>,
    /// Who to be.
    pub(crate) cert: Option<PathBuf>,
    /// The certificate's key.
    pub(crate) key: Option<PathBuf>,
}

impl Reading<'_> {
    /// `tls`, for a destination at `url`, asked at `ask_url`.
    pub(super) fn tls(&self, url: &str, ask_url: Option<&str>) -> Result<TlsFiles, Failure> {
        let Some(table) = &self.table().tls else { return Ok(TlsFiles::default()) };
        let refuse = |why: &str| Err(self.page.refuse(&table.span(), &format!("`tls`: {why}")));
        let is_plain = |url: &str| !url.starts_with("https://");
        if is_plain(url) && ask_url.is_none_or(is_plain) {
            return refuse("nothing is encrypted here: write https:// into `url`, or remove `tls`");
        }
        let table = table.get_ref();
        let path = |key: &str, value: &Option<Value>| match value {
            Some(value) => {
                let text = self.text(&format!("tls.{key}"), value)?;
                if text.is_empty() {
                    let key = format!("tls.{key}");
                    return Err(self.refuse_value(&key, value, "is empty: name a PEM file"));
                }
                Ok(Some(PathBuf::from(text)))
            }
            None => Ok(None),
        };
        let (ca, cert) = (path("ca", &table.ca)?, path("cert", &table.cert)?);
        let key = path("key", &table.key)?;
        if cert.is_some() != key.is_some() {
            return refuse("`cert` and `key` go together: give both, or none");
        }
        if ca.is_none() && cert.is_none() {
            return refuse("is empty: give `ca`, or `cert` and `key`, or remove it");
        }
        Ok(TlsFiles { ca, cert, key })
    }

    /// Whether the proxy of the environment is taken.
    pub(super) fn proxy_of_env(&self) -> Result<bool, Failure> {
        let Some(value) = &self.table().proxy else { return Ok(false) };
        if self.text("proxy", value)? == "env" {
            return Ok(true);
        }
        // It may be a URL with a password: its line is not shown.
        let (at, key) = (self.page.at(&value.span()), self.key("proxy"));
        Err(Failure::could_not_run(format!("{at}: `{key}`: there is one value, \"env\"")).help(
            "write proxy = \"env\" and set HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or leave it away",
        ))
    }
}
