//! `enqueue`: records one command, or a file of them.
//!
//! Guarantees: says `recorded` or `repeated`; a body is always asked for in so many words, so
//! nothing ever waits for a terminal. Does not: send.

mod file;
mod row;

use std::io::{IsTerminal, Read};
use std::path::Path;

use counterfoil_core::domain::command::BODY_BYTES_LIMIT;
use counterfoil_core::domain::{Command, Micros, OrderingKey};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::Recorded;

use super::{Found, block_on};
use crate::args::{Enqueue, Shared};
use crate::config::duration;
use crate::exit::{Ended, Exit, Failure};
use crate::output::{self, time};

/// Does `enqueue`.
///
/// # Errors
/// A flag is wrong, the store cannot be written, or the id stands with other content.
pub(crate) fn run(shared: &Shared, args: Enqueue) -> Ended {
    if let Some(path) = &args.from {
        return file::run(shared, path);
    }
    let needed = |value: Option<String>, what: &str| {
        value.ok_or_else(|| Failure::could_not_run(format!("{what} is missing: give it")))
    };
    let body = read_body(&args)?;
    let (id, to) = (needed(args.id, "the command's id")?, needed(args.to, "--to DESTINATION")?);
    let kind = needed(args.kind, "--kind KIND")?;
    let mut command = Command::bytes(id, to, kind, body).map_err(Failure::refused)?;
    // Text stays text, so that SQL shows it; a NUL would end it there.
    command.body_is_text = std::str::from_utf8(&command.body).is_ok() && !command.body.contains(&0);
    command.content_type = args.content_type;
    for header in &args.header {
        let Some((name, value)) = header.split_once('=') else {
            return Err(Failure::could_not_run(format!("--header {header:?} has no value"))
                .help("write --header NAME=VALUE"));
        };
        command = command.header(name, value);
    }
    if let Some(key) = args.ordering_key {
        let key = OrderingKey::new(key).map_err(Failure::refused)?;
        command = command.ordering_key(key);
    }
    let found = Found::new(shared)?;
    let store = found.open()?;
    let now = store.now()?;
    command.not_before = not_before(args.at.as_deref(), args.in_.as_deref(), now)?;
    command.expires_at = expires_at(args.expires.as_deref(), command.not_before, now)?;
    warn_unserved(&found, &command);
    let recorded = block_on(async { Ok(store.enqueue(vec![command]).await?) })?.pop();
    match recorded {
        Some(Ok(Recorded::Recorded)) => output::line("recorded")?,
        Some(Ok(Recorded::Repeated)) => output::line("repeated")?,
        Some(Err(refused)) => return Err(Failure::refused(refused)),
        None => return Err(Failure::could_not_run("the store gave no answer: try again")),
    }
    Ok(Exit::Done)
}

fn read_body(args: &Enqueue) -> Result<Vec<u8>, Failure> {
    let dash = args.stdin.is_some().then(|| Path::new("-"));
    read_given(args.body.as_deref(), args.body_file.as_deref().or(dash))
}

/// A body as text, from a file, or with the file `-` from standard input.
///
/// # Errors
/// There is none, it cannot be read, or it would be typed.
pub(super) fn read_given(text: Option<&str>, file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    match (text, file) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, Some(path)) if path == Path::new("-") => {
            let stdin = std::io::stdin();
            if stdin.is_terminal() {
                return Err(Failure::could_not_run("standard input is a terminal")
                    .help("pipe the body in, or give --body TEXT or --body-file FILE"));
            }
            read_bounded(stdin.lock(), "standard input")
        }
        (None, Some(path)) => {
            let name = path.display().to_string();
            let file = std::fs::File::open(path).map_err(|error| {
                Failure::could_not_run(format!("the body file {name} cannot be read: {error}"))
            })?;
            read_bounded(file, &name)
        }
        (None, None) => Err(Failure::could_not_run("the command has no body")
            .help("give --body TEXT, --body-file FILE, or `-` for standard input")),
    }
}

/// Reads no more than the guard would take, and one byte, so that it is refused with its length.
fn read_bounded(input: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let limit = BODY_BYTES_LIMIT as u64 + 1;
    input.take(limit).read_to_end(&mut body).map_err(|error| {
        Failure::could_not_run(format!("the body cannot be read from {name}: {error}"))
    })?;
    Ok(body)
}

/// A mistyped destination waits for ever, and nobody would say so before the relay does.
fn warn_unserved(found: &Found, command: &Command) {
    let Some(config) = &found.config else { return };
    let (to, names) = (command.destination.as_str(), config.destination_names());
    if !names.is_empty() && !names.iter().any(|name| name == to) {
        let (file, names) = (config.name(), names.join(", "));
        tracing::warn!("{file} has no [destination.{to}], so its relay leaves it: it has {names}");
    }
}

fn expires_at(
    text: Option<&str>,
    not_before: Option<Micros>,
    now: Micros,
) -> Result<Option<Micros>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let at = match duration::parse(text) {
        Ok(span) => now.plus(span),
        Err(_) => time::parse(text).map_err(|why| {
            Failure::could_not_run(format!("--expires {why}"))
                .help("or write how long from now, such as 2h")
        })?,
    };
    let refuse = |why: &str| {
        let text = format!("--expires {text}: {why}, so it could never be sent");
        Err(Failure::could_not_run(text).help("give a later time, or leave --expires away"))
    };
    if at <= now {
        return refuse("this is not after now");
    }
    if not_before.is_some_and(|from| at <= from) {
        return refuse("this is not after --at or --in");
    }
    Ok(Some(at))
}

fn not_before(at: Option<&str>, in_: Option<&str>, now: Micros) -> Result<Option<Micros>, Failure> {
    match (at, in_) {
        (Some(text), _) => {
            time::parse(text).map(Some).map_err(|why| Failure::could_not_run(format!("--at {why}")))
        }
        (None, Some(text)) => duration::parse(text)
            .map(|span| Some(now.plus(span)))
            .map_err(|why| Failure::could_not_run(format!("--in {why}"))),
        (None, None) => Ok(None),
    }
}
