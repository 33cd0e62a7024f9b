//! Reads the URL of a store, and what it says about TLS.
//!
//! Guarantees: `sslmode`, `sslrootcert`, `sslcert` and `sslkey` mean what libpq's mean, in URLs and
//! in words such as `host=db dbname=shop`; all other words go to the driver as they are. Does not:
//! read the environment, or files in a home.

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure::words;
use crate::store::OpenError;
use crate::tls::{self, Mode, Trust};

/// Where a store is, and how to get there.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) config: Config,
    pub(crate) tls: MakeRustlsConnect,
}

impl Target {
    /// Where `config` says, with TLS by `tls`.
    pub(crate) fn at(config: &Config, tls: &tls::Tls) -> Result<Self, OpenError> {
        Ok(Self { config: config.clone(), tls: tls::connector(&tls.trust())? })
    }
}

/// Reads `postgres://…`, `postgresql://…`, or words as libpq takes them.
pub(crate) fn read(url: &str) -> Result<Target, OpenError> {
    let mut said = Vec::new();
    let rest = match url.split_once("://") {
        Some(("postgres" | "postgresql", _)) => without_query(url, &mut said)?,
        _ => without_words(url, &mut said)?,
    };
    let mut config: Config =
        rest.parse().map_err(|error: tokio_postgres::Error| OpenError::Url(words(&error)))?;
    let mut trust = Trust::default();
    for (name, value) in said {
        match name {
            "sslmode" => trust.mode = Some(mode(&value)?),
            "sslrootcert" => trust.roots = Some(value).filter(|file| !file.is_empty()),
            "sslcert" => trust.cert = Some(value).filter(|file| !file.is_empty()),
            _ => trust.key = Some(value).filter(|file| !file.is_empty()),
        }
    }
    config.ssl_mode(match trust.mode {
        Some(Mode::Disable) => SslMode::Disable,
        Some(Mode::Prefer) | None => SslMode::Prefer,
        Some(Mode::Require | Mode::VerifyCa | Mode::VerifyFull) => SslMode::Require,
    });
    Ok(Target { config, tls: tls::connector(&trust)? })
}

/// The words that are ours to read.
fn ours(name: &str) -> Option<&'static str> {
    ["sslmode", "sslrootcert", "sslcert", "sslkey"].into_iter().find(|ours| *ours == name)
}

fn mode(value: &str) -> Result<Mode, OpenError> {
    Ok(match value {
        "disable" => Mode::Disable,
        "prefer" => Mode::Prefer,
        "require" => Mode::Require,
        "verify-ca" => Mode::VerifyCa,
        "verify-full" => Mode::VerifyFull,
        _ => {
            return Err(OpenError::Url(format!(
                "sslmode {value:?} is none of disable, prefer, require, verify-ca, verify-full: \
                 take one of them, or leave it out for prefer"
            )));
        }
    })
}

/// The URL without what its query says for us.
fn without_query(url: &str, said: &mut Vec<(&'static str, String)>) -> Result<String, OpenError> {
    // A password may hold a `?`; what stands before the first `@` is the driver's to read.
    let from = url.find('@').unwrap_or(0);
    let Some(at) = url[from..].find('?').map(|at| from + at) else { return Ok(url.to_owned()) };
    let mut left = Vec::new();
    for pair in url[at + 1..].split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match ours(&decoded(name)?) {
            Some(name) => said.push((name, decoded(value)?)),
            None => left.push(pair),
        }
    }
    let query = left.join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    Ok(format!("{}{mark}{query}", &url[..at]))
}

/// The bytes that `%41` and the like stand for.
fn decoded(text: &str) -> Result<String, OpenError> {
    let refused = || OpenError::Url(format!("{text:?} holds a `%` that begins no byte of UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or_else(refused)?);
        rest = &behind[2..];
    }
    String::from_utf8(bytes).map_err(|_| refused())
}

/// The words without those for us.
fn without_words(url: &str, said: &mut Vec<(&'static str, String)>) -> Result<String, OpenError> {
    let mut left = String::new();
    let mut rest = url.trim_start();
    while !rest.is_empty() {
        let Some((name, behind)) = rest.split_once('=') else {
            // The driver says what is wrong with it.
            left.push_str(rest);
            break;
        };
        let behind = behind.trim_start();
        let (value, taken) = word(behind)?;
        match ours(name.trim_end()) {
            Some(name) => said.push((name, value)),
            None => {
                left.push_str(name);
                left.push('=');
                left.push_str(&behind[..taken]);
                left.push(' ');
            }
        }
        rest = behind[taken..].trim_start();
    }
    Ok(left)
}

/// A value at the beginning of a text, and how many of its bytes say it.
fn word(text: &str) -> Result<(String, usize), OpenError> {
    let is_quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut chars = text.char_indices().skip(usize::from(is_quoted));
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if is_quoted => return Ok((value, at + 1)),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c if c.is_whitespace() && !is_quoted => return Ok((value, at)),
            c => value.push(c),
        }
    }
    if is_quoted {
        return Err(OpenError::Url("a value begins with a quote and does not end with one".into()));
    }
    Ok((value, text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(url: &str) -> (String, Vec<(&'static str, String)>) {
        let mut said = Vec::new();
        let rest = if url.contains("://") {
            without_query(url, &mut said)
        } else {
            without_words(url, &mut said)
        };
        (rest.unwrap(), said)
    }

    #[test]
    fn what_a_url_says_about_tls_is_taken_out_of_it() {
        let (rest, said) = left(
            "postgres://me:a?b@db/shop?sslmode=verify-full&connect_timeout=3&sslrootcert=%2Fa%20b",
        );
        assert_eq!(rest, "postgres://me:a?b@db/shop?connect_timeout=3");
        let expected = [("sslmode", "verify-full".into()), ("sslrootcert", "/a b".into())];
        assert_eq!(said, expected);
        assert_eq!(left("postgres://db/shop?sslmode=require").0, "postgres://db/shop");
        assert_eq!(left("postgres://db/shop").0, "postgres://db/shop");
    }

    #[test]
    fn so_is_what_words_say() {
        let (rest, said) = left(r"host=db sslmode = verify-ca password='it\'s' sslkey='/a b'");
        assert_eq!(rest, r"host=db password='it\'s' ");
        assert_eq!(said, [("sslmode", "verify-ca".into()), ("sslkey", "/a b".into())]);
    }

    #[test]
    fn the_driver_understands_what_is_left() {
        let target = read(r"host=db user=me password='it\'s' sslmode=disable").unwrap();
        assert_eq!(target.config.get_password(), Some(b"it's".as_slice()));
        assert_eq!(target.config.get_ssl_mode(), SslMode::Disable);
        assert_eq!(read("postgres://db/x").unwrap().config.get_ssl_mode(), SslMode::Prefer);
        for url in ["postgres://db/x?sslmode=verify", "host=db sslmode=on", "host='db"] {
            assert!(matches!(read(url), Err(OpenError::Url(_))), "{url}");
        }
    }
}
