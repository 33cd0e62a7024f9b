//! `audit`: proves from the tables that nothing was lost, invented or done twice.
//!
//! Guarantees: exit 0 only if every law holds for what was looked at, every expected command
//! stands, and the receiver's book agrees where it is given; it says whether it looked at
//! everything. Does not: write more than the seal, and with `--mend` what it says.

mod asking;
mod inbox_file;
mod inbox_table;
mod kept;
mod query_file;
mod query_table;
mod receiver;
mod tell;

use counterfoil_core::audit::{
    AuditError, AuditOptions, AuditReport, Expect, How, SealFate, audit_sealed,
};
use counterfoil_core::domain::Micros;
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Actor, Store};

use super::act::needed;
use super::{Found, actor::actor, block_on};
use crate::args::{Audit, Shared};
use crate::config::Config;
use crate::config::store_url::{self, StoreUrl};
use crate::exit::{Ended, Exit, Failure};
use crate::output;
use crate::store::{OpenStore, lacks_right};
use asking::Asked;
pub(super) use kept::{Kept, Retention};
pub(super) use receiver::{Book, Receiver};
pub(super) use tell::tell;

/// The reason that stands beside what was mended.
const MENDED: &str = "counterfoil audit --mend";

/// What was checked, and what was found.
pub(super) struct Checked {
    /// The laws of the store and the expected commands, and the match with the receiver's book.
    pub(super) report: AuditReport,
    /// Whether queries of the user's own were given.
    expects: bool,
    /// How a receiver's book was looked at; `None`: none was given.
    inbox: Option<Looked>,
    /// Whether it was not said which destinations that receiver serves.
    serves_all: bool,
}

/// How a receiver's book was looked at.
struct Looked {
    /// Commands that ended before this were not looked up there; `None`: all were.
    since: Option<Micros>,
    /// How many answers of a receiver that was asked were none.
    unclear: u64,
    /// What speaks against how far back was looked.
    notes: Vec<String>,
}

/// Does `audit`.
///
/// # Errors
/// Flags do not fit, or a store cannot be read.
pub(crate) fn run(shared: &Shared, args: &Audit) -> Ended {
    let how = how(args)?;
    let asks = args.inbox.as_deref() == Some("ask");
    let inbox = args.inbox.as_deref().filter(|_| !asks);
    let inbox = inbox.map(|url| store_url::parse("--inbox", url)).transpose()?;
    check_flags(args, asks)?;
    let found = Found::new(shared)?;
    let expect = found.config.as_ref().map_or_else(|| Ok(Vec::new()), Config::expect)?;
    let relay = found.relay()?;
    let book = match (&inbox, &args.inbox_query) {
        _ if asks => Some(Book::Asked { config: found.config.as_ref(), relay: &relay }),
        (url, Some(sql)) => Some(Book::Query { url: url.as_ref().unwrap_or(&found.url), sql }),
        (Some(url), None) => Some(Book::Inbox(url)),
        (None, None) => None,
    };
    let receiver = book.map(|book| Receiver { book, destinations: &args.destination });
    let role = role(&found.url, args);
    let checked = block_on(async {
        let store = found.open_here().await?;
        check(&store, expect, how, receiver).await
    });
    let checked = checked.map_err(|failure| match role.as_deref() {
        Some(role) if lacks_right(failure.text()) => {
            failure.help(format!("this audit needs the role {role}"))
        }
        _ => failure,
    })?;
    if args.json {
        output::line(&tell::object(&checked).to_string())?;
    } else {
        output::line(&tell(&checked))?;
        tell::looked_at(&checked).iter().try_for_each(|line| output::line(line))?;
        tell::passed(&checked.report, role.as_deref())
            .iter()
            .try_for_each(|line| output::line(line))?;
    }
    if let (true, Some(SealFate::NotWritten(why))) =
        (args.reseal, checked.report.pass.as_ref().map(|pass| &pass.seal))
    {
        let failure = Failure::could_not_run(format!("the old seal was not given up: {why}"));
        return Err(match role.filter(|_| lacks_right(why)) {
            Some(role) => failure.help(format!("run it as a user with the role {role}")),
            None => failure,
        });
    }
    Ok(if checked.report.holds { Exit::Done } else { Exit::Refused })
}

/// The role that may write what this audit writes; a file knows none.
fn role(url: &StoreUrl, args: &Audit) -> Option<String> {
    let StoreUrl::Postgres(url) = url else { return None };
    let role = if args.mend || args.reseal { "operator" } else { "auditor" };
    Some(format!("{}_{role}", url.options.schema))
}

fn how(args: &Audit) -> Result<How, Failure> {
    let mut how = How::default();
    how.full = args.full;
    if args.actor.is_some() && !args.mend && !args.reseal {
        let text = "--actor says who mends or reseals, and neither is asked for";
        return Err(Failure::could_not_run(text).help("add --mend or --reseal, or leave it away"));
    }
    if args.reseal {
        let why = "why the old seal is given up";
        let reason = needed(args.reason.clone(), "audit --reseal", "--reason", why)?;
        how.reseal = Some(Actor { name: actor(args.actor.clone())?, reason });
    }
    if args.mend {
        how.mend = Some(Actor { name: actor(args.actor.clone())?, reason: MENDED.into() });
    }
    Ok(how)
}

fn check_flags(args: &Audit, asks: bool) -> Result<(), Failure> {
    if asks && args.inbox_query.is_some() {
        let text = "--inbox ask and --inbox-query are two ways to look at the receiver";
        return Err(Failure::could_not_run(text).help("leave one away"));
    }
    if args.inbox.is_none() && args.inbox_query.is_none() && !args.destination.is_empty() {
        let text = "--destination says whom a receiver serves, and none is looked at";
        return Err(Failure::could_not_run(text).help("add --inbox or --inbox-query"));
    }
    Ok(())
}

/// Checks the laws of a store, what `expect` expects, and the receiver's book.
///
/// # Errors
/// One of the two cannot be read, or a query of `expect` fails.
pub(super) async fn check(
    store: &OpenStore,
    expect: Vec<(String, Option<String>)>,
    how: How,
    receiver: Option<Receiver<'_>>,
) -> Result<Checked, Failure> {
    let expects = !expect.is_empty();
    let queries = expect.into_iter().map(|(sql, kind)| match kind {
        Some(kind) => Expect::new(sql).kind(kind),
        None => Expect::new(sql),
    });
    let options = queries.fold(AuditOptions::default(), AuditOptions::expect);
    let asked: Vec<_> = options.expect.iter().map(|expect| expect.sql.clone()).collect();
    let serves_all = receiver.as_ref().is_some_and(Receiver::serves_all);
    if let Some(receiver) = &receiver {
        must_be_known(store, receiver.destinations).await?;
    }
    let matched = match receiver {
        Some(receiver) => Some(receiver.matched(store).await?),
        None => None,
    };
    let how = how.seal_stays(matched.as_ref().is_some_and(|matched| !matched.report.holds));
    let audited = Box::pin(audit_sealed(store, options, how)).await;
    let mut report = audited.map_err(|error| failed(error, &asked))?;
    let mut inbox = None;
    if let Some(Asked { report: matched, unclear, since, notes }) = matched {
        report = report.and(matched);
        inbox = Some(Looked { since, unclear, notes });
    }
    Ok(Checked { report, expects, inbox, serves_all })
}

/// A query of the user's own that fails says nothing about the store.
fn failed(error: AuditError, asked: &[String]) -> Failure {
    match error {
        AuditError::Store(StoreError::Broken(why))
            if asked.iter().any(|sql| why.contains(&format!("{sql:?}"))) =>
        {
            Failure::could_not_run(format!("[audit] expect: {why}")).help(
                "correct the query: it reads tables of the store's own file or database, and its \
                 first column is command ids",
            )
        }
        AuditError::Seal(_) => Failure::could_not_run(error).help(
            "counterfoil audit --full looks at everything and begins a new seal; what was removed \
             or changed before that it cannot see",
        ),
        AuditError::Store(error) => error.into(),
        other => Failure::could_not_run(other),
    }
}

/// A mistyped name would match nothing, and so find nothing.
async fn must_be_known(store: &OpenStore, destinations: &[String]) -> Result<(), Failure> {
    let status = store.status().await?;
    let is_known =
        |name: &String| status.destinations.contains_key(name) || status.declared.contains(name);
    match destinations.iter().find(|name| !is_known(name)) {
        Some(name) => {
            let text = format!("--destination {name}: nothing was ever recorded for it here");
            Err(Failure::refused(text).help("see the names with `counterfoil status`"))
        }
        None => Ok(()),
    }
}
