//! `enqueue`: what can be typed.
//!
//! Guarantees: each flag with its unit and default. Does not: record.

use std::path::PathBuf;

use clap::Args;

/// `enqueue`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Enqueue {
    /// The command's id: the name of this one intent for ever, 1 to 255 bytes
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// `-` reads the body from standard input
    #[arg(value_name = "-", value_parser = dash)]
    pub(crate) stdin: Option<String>,
    /// The destination
    #[arg(long, value_name = "DESTINATION")]
    pub(crate) to: Option<String>,
    /// What kind of command, such as order.paid
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// The body, as text
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["stdin", "body_file"])]
    pub(crate) body: Option<String>,
    /// The body, read from a file, byte for byte; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "stdin")]
    pub(crate) body_file: Option<PathBuf>,
    /// The body's media type, which the body is not checked against
    #[arg(long, value_name = "TYPE", default_value = "application/json")]
    pub(crate) content_type: String,
    /// An extra header; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) header: Vec<String>,
    /// Not to be sent before this time, RFC 3339, such as 2026-12-01T09:00:00Z. Default: at once
    #[arg(long, value_name = "TIME", conflicts_with = "in_")]
    pub(crate) at: Option<String>,
    /// Not to be sent before so long from now, such as 500ms, 10s, 2h
    #[arg(long = "in", value_name = "DURATION")]
    pub(crate) in_: Option<String>,
    /// Ends unsent after this time: RFC 3339, or so long from now, such as 30s, 2h. What is being
    /// sent then is left to its attempt. Default: never
    #[arg(long, value_name = "TIME|DURATION")]
    pub(crate) expires: Option<String>,
    /// Commands of one key to one destination go one at a time, in the order of their commits.
    /// Default: none, in any order
    #[arg(long, value_name = "KEY")]
    pub(crate) ordering_key: Option<String>,
    /// Many commands, from a file of JSON lines {"id", "to", "kind", "body" or "body_base64",
    /// "headers", "ordering_key", "at", "expires", "content_type"}; `-` is standard input. A
    /// body that is a string is the text itself, without quotes; another is taken as it stands
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = [
        "id", "stdin", "to", "kind", "body", "body_file", "content_type", "header", "at", "in_",
        "expires", "ordering_key",
    ])]
    pub(crate) from: Option<PathBuf>,
}

/// A body as an argument is a mistake that many make once.
fn dash(given: &str) -> Result<String, &'static str> {
    match given {
        "-" => Ok(given.to_owned()),
        _ => Err("a body is given by --body TEXT or --body-file FILE, or by `-` on standard input"),
    }
}
