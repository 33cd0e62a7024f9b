//! `receiver`: the reference receiver, to test against, to drill with, and to read.
//!
//! Guarantees: the address is announced on stderr once connections are taken; faults on purpose
//! are flags. Does not: terminate TLS or know who calls; put it on a private network.

use std::io::Write;
use std::sync::Arc;

use counterfoil_core::domain::Span;
use counterfoil_core::port::Book;
use counterfoil_inbox::receiver::{Faults, Hold, Keys, Options, Reporting};
use counterfoil_postgres::BookRefused;
use tokio::net::TcpListener;

use super::{Found, block_on_many, stop};
use crate::args::{Receiver, Shared};
use crate::config::duration;
use crate::config::store_url::StoreUrl;
use crate::exit::{Ended, Exit, Failure};
use crate::store::no_server;

/// Does `receiver`.
///
/// # Errors
/// The store cannot be opened, or the address cannot be listened at.
pub(crate) fn run(shared: &Shared, args: &Receiver) -> Ended {
    let options = options(args)?;
    match own_store(shared)? {
        StoreUrl::Sqlite(path) => {
            let book = counterfoil_sqlite::InboxBook::open(&path);
            serve(book.map_err(Failure::could_not_run)?, args, options)
        }
        StoreUrl::Postgres(url) => {
            let book = counterfoil_postgres::InboxBook::open_at(&url.config, &url.options);
            let book = book.map_err(|error| match error {
                BookRefused::Open(error) => no_server(&url, &error),
                error => Failure::could_not_run(format!("{url}: {error}")),
            })?;
            serve(book, args, options)
        }
    }
}

fn serve<B: Book + Send + 'static>(book: B, args: &Receiver, options: Options) -> Ended {
    block_on_many(async {
        let listener = listen(&args.listen).await?;
        let address = listener.local_addr().map_err(|error| no_address(&args.listen, &error))?;
        let stop = stop::listen(args.end_with_stdin)?;
        let receiver = counterfoil_inbox::receiver::Receiver::open(book, options)
            .map_err(Failure::could_not_run)?;
        // Whoever started it reads this, whatever the log level.
        let _ = writeln!(std::io::stderr(), "listening on {address}");
        receiver.serve(listener, stop).await.map_err(Failure::could_not_run)?;
        Ok(Exit::Done)
    })
}

/// The configuration names the sender's store, which a receiver must not take for its own.
fn own_store(shared: &Shared) -> Result<StoreUrl, Failure> {
    let found = Found::new(shared)?;
    if found.named_elsewhere {
        return Ok(found.url);
    }
    let text = "the store of the configuration is a sender's; a receiver keeps a store of its own";
    Err(Failure::could_not_run(text).help("write, for instance, --store sqlite:warehouse.db"))
}

async fn listen(address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| no_address(address, &error))
}

fn no_address(address: &str, error: &std::io::Error) -> Failure {
    let failure = Failure::could_not_run(format!("cannot listen at {address}: {error}"));
    match error.kind() {
        std::io::ErrorKind::AddrInUse => failure
            .help("another program has this port: stop it, or give --listen another one (0: any)"),
        std::io::ErrorKind::PermissionDenied => {
            failure.help("ports below 1024 need rights: give --listen a higher one")
        }
        _ => failure.help("give --listen ADDRESS:PORT of this machine, such as 127.0.0.1:8080"),
    }
}

fn options(args: &Receiver) -> Result<Options, Failure> {
    let span = |flag: &str, text: &str| {
        duration::parse(text).map_err(|why| Failure::could_not_run(format!("{flag} {why}")))
    };
    let mut options = Options::default();
    options.retention = span("--retention", &args.retention)?;
    if options.retention == Span::ZERO {
        let text = "--retention is zero: a repeat would act again";
        return Err(Failure::could_not_run(text)
            .help("give at least as long as senders may retry, such as --retention 7d"));
    }
    options.keys = if args.no_keys { Keys::Ignore } else { Keys::Fold };
    options.is_askable = !args.no_asking;
    options.report_to = reporting(args)?;
    options.refused_kinds = args.refuse_kind.iter().cloned().collect();
    options.faults = faults(args, span("--hold-for", &args.hold_for)?.to_std());
    Ok(options)
}

fn reporting(args: &Receiver) -> Result<Option<Reporting>, Failure> {
    let Some(prefix) = &args.report_to else { return Ok(None) };
    let token = args.report_token_file.as_ref().map(|file| {
        std::fs::read_to_string(file).map_err(|error| {
            let text = format!("--report-token-file {}: {error}", file.display());
            Failure::could_not_run(text).help("give a file that holds the token alone")
        })
    });
    let token = token.transpose()?;
    // Editors end a file with a line break, which is no part of a token.
    let token = token.as_deref().map(str::trim_end);
    Reporting::new(prefix, token).map(Some).map_err(|refused| {
        Failure::could_not_run(format!("--report-to: {refused} [{}]", refused.code()))
    })
}

fn faults(args: &Receiver, lasts: std::time::Duration) -> Faults {
    let mut faults = Faults::default();
    faults.die_before_commit_at = args.die_before_commit;
    faults.die_after_commit_at = args.die_after_commit;
    faults.drop_receipts = args.drop_receipts;
    if !args.hold_after_commit.is_empty() {
        let announce = Arc::new(|key: &str| {
            // Nobody to hear it is no reason to fail.
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "held {key}").and_then(|()| out.flush());
        });
        let effects = args.hold_after_commit.iter().copied().collect();
        faults.hold = Some(Hold { effects, lasts, announce });
    }
    faults
}
