//! `postgres://…`: where the server is, and how this program uses it.
//!
//! Guarantees: every option is known by name, Counterfoil's own and libpq's; a password is taken
//! from the URL, else from `PGPASSWORD`, else from the password file, and is never shown. Does not:
//! connect, or read other `PG…` variables.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use counterfoil_postgres::{Options, Verify};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::password_file::{Asked, password};
use crate::exit::Failure;

/// The port where none is given.
const PORT: u16 = 5432;
/// The most connections of one process that make sense.
const CONNECTIONS_MAX: usize = 1_000;
/// The longest wait for a connection, in seconds.
const CONNECT_SECONDS_MAX: u64 = 600;
/// The longest wait for a statement or an answer, in seconds.
const ANSWER_SECONDS_MAX: u64 = 3_600;
/// Options of libpq that the driver knows by the same name.
const PASSED_ON: [&str; 16] = [
    "application_name",
    "channel_binding",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];
/// What else may be written.
const OWN: &str = "schema, pooler, listen, connections, connect_timeout, statement_timeout, \
    answer_timeout, sslmode, sslrootcert, host, hostaddr, port, user, dbname, application_name, \
    options, target_session_attrs, channel_binding, load_balance_hosts, keepalives, \
    keepalives_idle, keepalives_interval, keepalives_retries, tcp_user_timeout";

/// A PostgreSQL store's URL, read.
#[derive(Clone, Debug)]
pub(crate) struct PostgresUrl {
    /// Server, database, user and password.
    pub(crate) config: Config,
    /// Schema, pool and TLS.
    pub(crate) options: Options,
    shown: String,
}

/// As it was given, without password and options, but for the schema.
impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)?;
        if self.options.schema == Options::default().schema {
            return Ok(());
        }
        write!(f, "?schema={}", self.options.schema)
    }
}

impl PostgresUrl {
    /// Reads a URL that begins with `postgres://` or `postgresql://`; `from` is where it stands.
    ///
    /// # Errors
    /// What is wrong with it; no value is shown.
    pub(super) fn parse(from: &str, url: &str) -> Result<Self, Failure> {
        let refuse = |why: String| Failure::could_not_run(format!("{from}: {why}"));
        let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        if place.matches('@').count() > 1 || query.contains('@') {
            let why = "the URL has an `@` too many: percent-encode it (%40) in names and passwords";
            return Err(refuse(why.to_owned()));
        }
        let mut read = Reader::default();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            read.option(option).map_err(|why| refuse(why).help(format!("options are {OWN}")))?;
        }
        let url = format!("{scheme}://{place}?{}", read.passed_on.join("&"));
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            refuse(format!("the URL cannot be read: {}", because(&error)))
                .help("write postgres://USER@HOST:PORT/DATABASE")
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(refuse("the URL names no host".to_owned())
                .help("write postgres://USER@HOST:PORT/DATABASE, or ?host=/var/run/postgresql"));
        }
        let mut options = read.options;
        if options.answer_timeout <= options.statement_timeout {
            let why = "answer_timeout (40 s where it is not given) is not longer than \
                       statement_timeout (30 s)";
            return Err(refuse(why.to_owned()).help(
                "give both, so that the server ends a slow statement before it counts as silent",
            ));
        }
        config.ssl_mode(read.ssl.settle(&mut options).map_err(&refuse)?);
        give_password(&mut config);
        Ok(Self { shown: format!("{scheme}://{}", without_password(place)), config, options })
    }

    /// Whether a relay would hear what it is told, if it is to listen.
    ///
    /// # Errors
    /// It listens through a pooler that shares its connection with others.
    pub(crate) fn check_hears(&self) -> Result<(), Failure> {
        if !(self.options.listen && self.options.pooler) {
            return Ok(());
        }
        let why = "a relay hears nothing by listen=true through pooler=transaction, which shares \
                   connections";
        Err(Failure::could_not_run(format!("{self}: {why}")).help(
            "give the relay a URL that leads to the server itself, or leave listen out and let \
             it look every [relay] poll; writers may keep both",
        ))
    }

    /// The answer on a connection of this program's own, where the server gives one in time.
    ///
    /// # Errors
    /// It said nothing for `answer_timeout`.
    pub(crate) async fn within<T>(&self, asked: impl Future<Output = T>) -> Result<T, String> {
        let limit = self.options.answer_timeout;
        let answered = tokio::time::timeout(limit, asked).await;
        answered.map_err(|_| format!("the server gave no answer within {limit:?}"))
    }

    /// `sql` with the schema's name for each `cf.`.
    pub(crate) fn in_schema(&self, sql: &str) -> String {
        let schema = self.options.schema.replace('"', "\"\"");
        sql.replace("cf.", &format!("\"{schema}\"."))
    }
}

/// Whether a password stands in a URL of PostgreSQL; whatever stands before an `@` may be one.
pub(crate) fn holds_password(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    if !matches!(scheme, "postgres" | "postgresql") {
        return false;
    }
    let credentials = rest.rsplit_once('@').map_or("", |(credentials, _)| credentials);
    let named = |option: &str| matches!(option.split('=').next(), Some("password" | "sslpassword"));
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    credentials.contains(':') || query.split('&').any(named)
}

fn without_password(place: &str) -> String {
    match place.split_once('@') {
        Some((credentials, host)) => {
            let user = credentials.split(':').next().unwrap_or_default();
            format!("{user}@{host}")
        }
        None => place.to_owned(),
    }
}

fn because(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// From the environment, where the URL has none.
fn give_password(config: &mut Config) {
    if config.get_user().is_none() {
        let user = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        user.map(|user| config.user(user));
    }
    if config.get_password().is_some() {
        return;
    }
    let found = std::env::var("PGPASSWORD").ok().filter(|it| !it.is_empty()).or_else(|| {
        let user = config.get_user().unwrap_or_default();
        let database = config.get_dbname().unwrap_or(user);
        let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
            let port = config.get_ports().get(at).or(config.get_ports().first());
            (name(host), *port.unwrap_or(&PORT))
        });
        hosts.into_iter().find_map(|(host, port)| password(&Asked { host, port, database, user }))
    });
    found.map(|found| config.password(found));
}

/// What a host is called in a password file.
fn name(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(folder) => match folder.to_str() {
            // libpq's own folders of sockets.
            Some("/tmp" | "/var/run/postgresql") | None => "localhost".to_owned(),
            Some(folder) => folder.to_owned(),
        },
    }
}

/// The options of a URL, as they are read one by one.
#[derive(Default)]
struct Reader {
    options: Options,
    passed_on: Vec<String>,
    ssl: Ssl,
}

impl Reader {
    fn option(&mut self, option: &str) -> Result<(), String> {
        let (name, encoded) = option.split_once('=').unwrap_or((option, ""));
        let value = decoded(encoded)
            .ok_or_else(|| "an option of the URL has a bad percent-encoding".to_owned())?;
        let options = &mut self.options;
        match name {
            "schema" => options.schema = value,
            "pooler" => {
                options.pooler = match value.as_str() {
                    "transaction" => true,
                    "session" => false,
                    _ => return Err("pooler is none of transaction, session".to_owned()),
                };
            }
            "connections" => {
                let fits = |n: &usize| (2..=CONNECTIONS_MAX).contains(n);
                options.connections = value.parse().ok().filter(fits).ok_or_else(|| {
                    format!("connections is no number from 2 to {CONNECTIONS_MAX}")
                })?;
            }
            "connect_timeout" => {
                options.connect_timeout = seconds(name, &value, CONNECT_SECONDS_MAX)?;
            }
            "statement_timeout" => {
                options.statement_timeout = seconds(name, &value, ANSWER_SECONDS_MAX)?;
            }
            "answer_timeout" => {
                options.answer_timeout = seconds(name, &value, ANSWER_SECONDS_MAX)?;
            }
            "listen" => {
                options.listen = match value.as_str() {
                    "true" => true,
                    "false" => false,
                    _ => return Err("listen is none of true, false".to_owned()),
                };
            }
            "sslmode" => self.ssl.mode = value,
            "sslrootcert" => self.ssl.roots = Some(value),
            name if PASSED_ON.contains(&name) => self.passed_on.push(option.to_owned()),
            name if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') => {
                return Err(format!("the URL has an unknown option `{name}`"));
            }
            // It may be a part of a password.
            _ => return Err("the URL has an unknown option".to_owned()),
        }
        Ok(())
    }
}

/// A time-out of an option.
fn seconds(name: &str, value: &str, most: u64) -> Result<Duration, String> {
    let fits = |n: &u64| (1..=most).contains(n);
    let seconds = value.parse().ok().filter(fits);
    let seconds =
        seconds.ok_or_else(|| format!("{name} is no number of seconds from 1 to {most}"))?;
    Ok(Duration::from_secs(seconds))
}

/// `sslmode` and `sslrootcert`, as libpq takes them.
#[derive(Default)]
struct Ssl {
    mode: String,
    roots: Option<String>,
}

impl Ssl {
    fn settle(self, options: &mut Options) -> Result<SslMode, String> {
        let (mode, verify) = match (self.mode.as_str(), &self.roots) {
            ("disable", _) => (SslMode::Disable, Verify::Nothing),
            ("" | "prefer", None) => (SslMode::Prefer, Verify::Nothing),
            ("require", None) => (SslMode::Require, Verify::Nothing),
            // As libpq does where it is given authorities.
            ("require", Some(_)) | ("verify-ca", _) => (SslMode::Require, Verify::Authority),
            ("verify-full", _) => (SslMode::Require, Verify::Full),
            ("" | "prefer", Some(_)) => {
                return Err("sslrootcert goes with sslmode=verify-full or verify-ca".to_owned());
            }
            _ => {
                return Err(
                    "sslmode is none of disable, prefer, require, verify-ca, verify-full".into()
                );
            }
        };
        options.tls.verify = verify;
        options.tls.roots = self.roots.filter(|file| file != "system").map(PathBuf::from);
        Ok(mode)
    }
}

/// Without its percent-encoding.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit =
                |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
            let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
            bytes.push(high * 16 + low);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<PostgresUrl, String> {
        PostgresUrl::parse("--store", url).map_err(|failure| failure.whole())
    }

    #[test]
    fn options_of_ours_are_taken_out_and_others_are_passed_on() {
        let url = "postgresql://me@db:6432/shop?schema=cf_a&pooler=transaction&connections=3\
                   &connect_timeout=5&statement_timeout=6&answer_timeout=7&listen=true\
                   &application_name=a%20b&sslmode=disable";
        let read = read(url).unwrap();
        assert_eq!(read.options.schema, "cf_a");
        assert!(read.options.pooler);
        assert!(read.options.listen);
        assert_eq!(read.options.statement_timeout, Duration::from_secs(6));
        assert_eq!(read.options.answer_timeout, Duration::from_secs(7));
        assert_eq!(read.options.connections, 3);
        assert_eq!(read.options.connect_timeout, Duration::from_secs(5));
        assert_eq!(read.config.get_application_name(), Some("a b"));
        assert_eq!(read.config.get_ssl_mode(), SslMode::Disable);
        assert_eq!(read.config.get_ports(), [6432]);
        assert_eq!(read.to_string(), "postgresql://me@db:6432/shop?schema=cf_a");
        assert_eq!(read.in_schema("SELECT 1 FROM cf.meta"), "SELECT 1 FROM \"cf_a\".meta");
    }

    #[test]
    fn a_relay_does_not_listen_through_a_pooler() {
        let hears = |options| read(&format!("postgres://me@db/x?{options}")).unwrap().check_hears();
        for fine in ["listen=true", "pooler=transaction", "listen=true&pooler=session"] {
            hears(fine).unwrap();
        }
        let refused = hears("listen=true&pooler=transaction").unwrap_err().whole();
        assert!(refused.contains("the server itself"), "{refused}");
    }

    #[test]
    fn what_is_wrong_is_named_and_no_value_is_shown() {
        for (option, word) in [
            ("scheme=hunter2", "unknown option `scheme`"),
            ("sslpassword=hunter2", "unknown option `sslpassword`"),
            ("b2&hunter2", "an unknown option"),
            ("pooler=hunter2", "transaction, session"),
            ("connections=1", "from 2 to"),
            ("connect_timeout=0", "connect_timeout is no number of seconds from 1 to 600"),
            ("statement_timeout=hunter2", "statement_timeout is no number of seconds from 1"),
            ("answer_timeout=0", "answer_timeout is no number of seconds from 1 to 3600"),
            ("listen=hunter2", "true, false"),
            ("sslmode=allow", "verify-full"),
            ("sslrootcert=hunter2", "goes with sslmode"),
            ("port=hunter2", "`port`"),
            ("schema=%zz", "percent-encoding"),
        ] {
            let refused = read(&format!("postgres://me@db/x?{option}")).unwrap_err();
            assert!(refused.starts_with("[2] --store: "), "{refused}");
            assert!(refused.contains(word) && !refused.contains("hunter2"), "{option}: {refused}");
        }
        let refused = read("postgres://me:hun@ter2@db/x").unwrap_err();
        assert!(refused.contains("%40") && !refused.contains("ter2"), "{refused}");
        for options in ["answer_timeout=30", "statement_timeout=40"] {
            let refused = read(&format!("postgres://me@db/x?{options}")).unwrap_err();
            assert!(refused.contains("give both"), "{refused}");
        }
        assert!(read("postgres:///x").unwrap_err().contains("no host"));
        assert!(read("postgres:///x?host=/run/pg").is_ok());
    }

    #[test]
    fn a_password_is_seen_wherever_it_stands() {
        for url in [
            "postgres://me:pw@db/x",
            "postgres://me:p?w@db/x",
            "postgres://me:p/w@db/x",
            "postgresql://db/x?user=me&password=pw",
        ] {
            assert!(holds_password(url), "{url}");
        }
        for url in ["postgres://me@db:5432/x", "postgres://db:5432/x?user=me", "sqlite:a:b@c"] {
            assert!(!holds_password(url), "{url}");
        }
    }

    #[test]
    fn certificates_are_judged_as_libpq_would() {
        for (given, mode, verify) in [
            ("", SslMode::Prefer, Verify::Nothing),
            ("sslmode=require", SslMode::Require, Verify::Nothing),
            ("sslmode=require&sslrootcert=a.pem", SslMode::Require, Verify::Authority),
            ("sslmode=verify-ca", SslMode::Require, Verify::Authority),
            ("sslmode=verify-full&sslrootcert=system", SslMode::Require, Verify::Full),
        ] {
            let read = read(&format!("postgres://me@db/x?{given}")).unwrap();
            assert_eq!((read.config.get_ssl_mode(), read.options.tls.verify), (mode, verify));
            let file = given.contains("a.pem").then(|| PathBuf::from("a.pem"));
            assert_eq!(read.options.tls.roots, file, "{given}");
        }
    }
}
