//! `[api]`: where the relay listens, how receivers reach it, and who may do what.
//!
//! Guarantees: without tokens only this machine is listened to; a token's value never stands in
//! the file. Does not: listen.

use std::net::{Ipv4Addr, SocketAddr};

use counterfoil_console::{Role, Token};
use serde::Deserialize;
use toml::Spanned;

use super::file::Value;
use super::url::parts;
use super::{Config, Page};
use crate::exit::Failure;

/// Default of `listen`.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7070);
/// Where receipts are taken, below `public_url`.
const RECEIPTS: &str = "/v1/receipts";

/// `[api]` as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiTable {
    listen: Option<Value>,
    public_url: Option<Value>,
    #[serde(default)]
    tokens: Vec<Spanned<TokenTable>>,
}

/// One of `tokens`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenTable {
    name: Option<Value>,
    role: Option<Value>,
    value: Option<Value>,
}

/// `[api]`, read.
#[derive(Clone, Debug)]
pub(crate) struct ApiSettings {
    /// Where to listen. Default 127.0.0.1:7070.
    pub(crate) listen: SocketAddr,
    /// How receivers reach it, without a `/` at its end.
    pub(crate) public_url: Option<String>,
    /// Who may do what.
    pub(crate) tokens: Vec<Token>,
}

impl ApiSettings {
    /// Where receivers report, if they are told.
    pub(crate) fn receipt_url(&self) -> Option<String> {
        self.public_url.as_ref().map(|url| format!("{url}{RECEIPTS}"))
    }
}

impl Config {
    /// `[api]`, if it is there.
    ///
    /// # Errors
    /// A value breaks a rule, or a secret stands in plain text.
    pub(crate) fn api(&self) -> Result<Option<ApiSettings>, Failure> {
        let Some(table) = &self.file.api else { return Ok(None) };
        let (page, span, table) = (&self.page, table.span(), table.get_ref());
        let listen = match &table.listen {
            Some(value) => page.listen(value)?,
            None => LISTEN,
        };
        let tokens = table.tokens.iter().map(|token| page.token(token));
        let tokens = tokens.collect::<Result<Vec<_>, _>>()?;
        for (n, token) in tokens.iter().enumerate() {
            let is_same = |other: &Token| other.name() == token.name();
            if tokens[..n].iter().any(|other| is_same(other) && other.role() != token.role()) {
                let (at, name) = (page.at(&table.tokens[n].span()), token.name());
                let text = format!("{at}: `api.tokens`: {name:?} has another role already");
                return Err(Failure::could_not_run(text)
                    .help("a name may stand twice, while a secret is changed, with one role"));
            }
        }
        if tokens.is_empty() && !listen.ip().to_canonical().is_loopback() {
            let at = table.listen.as_ref().map_or(span, Spanned::span);
            let why = format!(
                "`api.listen` is {listen}, which others can reach, and `api.tokens` is empty, so \
                 anybody could report receipts"
            );
            return Err(page.refuse(&at, &why).help(
                "add tokens = [{ name = \"ops\", role = \"operator\", value = { env = \"NAME\" } \
                 }], or listen at 127.0.0.1",
            ));
        }
        let public_url = match &table.public_url {
            Some(value) => Some(page.public_url(value)?),
            None => None,
        };
        Ok(Some(ApiSettings { listen, public_url, tokens }))
    }
}

impl Page {
    fn listen(&self, value: &Value) -> Result<SocketAddr, Failure> {
        let text = self.text("api.listen", value)?;
        let text = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let text = match text {
            Some(local) => local,
            None => self.text("api.listen", value)?,
        };
        text.parse().map_err(|_| {
            let why = "is no ADDRESS:PORT of this machine, such as \"127.0.0.1:7070\"";
            self.refuse_value("api.listen", value, why)
        })
    }

    fn public_url(&self, value: &Value) -> Result<String, Failure> {
        let key = "api.public_url";
        let instead = "receivers authenticate by a token of role \"receipt\": see `api.tokens`";
        let url = self.http_url(key, value, instead)?;
        if parts(&url).rest.contains(['?', '#']) {
            let why = "holds a query or a fragment: write scheme, host and perhaps a path";
            return Err(self.refuse_value(key, value, why));
        }
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            let why = "holds a character that a header cannot carry: percent-encode it";
            return Err(self.refuse_value(key, value, why));
        }
        Ok(url.trim_end_matches('/').to_owned())
    }

    fn token(&self, token: &Spanned<TokenTable>) -> Result<Token, Failure> {
        // A token's line may hold its secret: only its place is shown.
        let at = self.at(&token.span());
        let table = token.get_ref();
        let refuse = |why: &str| {
            Failure::could_not_run(format!("{at}: `api.tokens`: {why}")).help(
                "write { name = \"ops\", role = \"operator\", value = { env = \"NAME\" } }; roles \
                 are \"receipt\", \"read\" and \"operator\"",
            )
        };
        let needed = |key: &str, value: &Option<Value>| match value {
            Some(value) => {
                let read = value.get_ref().read();
                let read = read.map_err(|why| refuse(&format!("`{key}`: {why}")))?;
                if read.is_empty() {
                    return Err(refuse(&format!("`{key}` is empty")));
                }
                Ok(read)
            }
            None => Err(refuse(&format!("`{key}` is missing"))),
        };
        if table.value.as_ref().is_some_and(|value| value.get_ref().is_plain()) {
            let text = format!("{at}: `api.tokens`: a secret stands in plain text");
            return Err(Failure::could_not_run(text)
                .help("write value = { env = \"NAME\" } or { file = \"PATH\" } instead"));
        }
        let role = needed("role", &table.role)?;
        let role = Role::from_name(&role).ok_or_else(|| refuse("there is no such role"))?;
        let (name, secret) = (needed("name", &table.name)?, needed("value", &table.value)?);
        Token::new(name, role, secret).map_err(|why| refuse(&why.to_string()))
    }
}
