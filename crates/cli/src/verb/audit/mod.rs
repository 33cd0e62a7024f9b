//! `audit`: proves from the tables that nothing was lost, invented or done twice.
//!
//! Guarantees: exit 0 only if every law holds, every expected command stands, and the receiver's
//! book agrees where it is given. Does not: write; this form always checks everything.

mod inbox_file;
mod inbox_table;

use counterfoil_console::json;
use counterfoil_core::audit::{AuditOptions, AuditReport, Expect, InboxMatch, audit, match_inbox};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::StoreError;

use super::{Found, block_on};
use crate::args::{Audit, Shared};
use crate::config::Config;
use crate::config::store_url::{self, StoreUrl};
use crate::exit::{Ended, Exit, Failure};
use crate::output;
use crate::output::table::cell;
use crate::store::OpenStore;
use inbox_file::InboxFile;
use inbox_table::InboxTable;

/// How many violations are shown to people.
const SHOWN: usize = 50;

/// What completed has no key in the receiver's book.
const MISSING_THERE: &str = "CF0841";

/// What was checked, and what was found.
pub(super) struct Checked {
    /// The laws of the store and the expected commands, and the match with the receiver's book.
    pub(super) report: AuditReport,
    /// Whether queries of the user's own were given.
    expects: bool,
    /// Whether a receiver's book was given.
    inbox: bool,
    /// Whether it was not said which destinations that receiver serves.
    serves_all: bool,
}

/// A receiver whose book is matched.
pub(super) struct Receiver<'a> {
    /// Its store.
    pub(super) url: &'a StoreUrl,
    /// What it serves; empty: all. Others have their keys in a book of their own.
    pub(super) destinations: &'a [String],
}

/// Does `audit`.
///
/// # Errors
/// A flag is not yet known, or a store cannot be read.
pub(crate) fn run(shared: &Shared, args: &Audit) -> Ended {
    if args.mend {
        return Err(Failure::not_yet("`--mend` (parks what has lost its delivery)"));
    }
    if args.inbox_query.is_some() {
        return Err(Failure::not_yet("`--inbox-query` (a receiver whose own table is the inbox)"));
    }
    let inbox = args.inbox.as_deref().map(|url| store_url::parse("--inbox", url)).transpose()?;
    let found = Found::new(shared)?;
    let expect = found.config.as_ref().map_or_else(|| Ok(Vec::new()), Config::expect)?;
    let store = found.open()?;
    let book = inbox.as_ref().map(|url| Receiver { url, destinations: &args.destination });
    let checked = block_on(check(&store, expect, book))?;
    if args.json {
        output::line(&json::audit(&checked.report).to_string())?;
    } else {
        output::line(&tell(&checked))?;
    }
    Ok(if checked.report.holds { Exit::Done } else { Exit::Refused })
}

/// Checks the laws of a store, what `expect` expects, and the receiver's book.
///
/// # Errors
/// One of the two cannot be read, or a query of `expect` fails.
pub(super) async fn check(
    store: &OpenStore,
    expect: Vec<(String, Option<String>)>,
    inbox: Option<Receiver<'_>>,
) -> Result<Checked, Failure> {
    let expects = !expect.is_empty();
    let queries = expect.into_iter().map(|(sql, kind)| match kind {
        Some(kind) => Expect::new(sql).kind(kind),
        None => Expect::new(sql),
    });
    let options = queries.fold(AuditOptions::default(), AuditOptions::expect);
    let asked: Vec<_> = options.expect.iter().map(|expect| expect.sql.clone()).collect();
    let mut report = audit(store, options).await.map_err(|error| failed(error, &asked))?;
    let commands = report.checked.commands;
    let is_matched = inbox.is_some();
    let serves_all = inbox.as_ref().is_some_and(|receiver| receiver.destinations.is_empty());
    if let Some(receiver) = inbox {
        must_be_known(store, receiver.destinations).await?;
        report = report.and(matched(store, receiver).await?);
    }
    // The match looks at the same commands again.
    report.checked.commands = commands;
    Ok(Checked { report, expects, inbox: is_matched, serves_all })
}

/// Our book against the receiver's.
async fn matched(store: &OpenStore, receiver: Receiver<'_>) -> Result<AuditReport, Failure> {
    let serves = receiver.destinations.iter();
    let mut matched = serves.fold(InboxMatch::default(), InboxMatch::destination);
    let (source, now) = (store.source(), store.now()?);
    match receiver.url {
        StoreUrl::Sqlite(path) => {
            let book = InboxFile::open(path, &source)?;
            matched.since = book.remembers_since(now)?;
            match_inbox(store, &book, matched).await.map_err(Failure::could_not_run)
        }
        StoreUrl::Postgres(url) => {
            let book = InboxTable::open(url, &source).await?;
            matched.since = book.remembers_since(now).await?;
            match_inbox(store, &book, matched).await.map_err(Failure::could_not_run)
        }
    }
}

/// A query of the user's own that fails says nothing about the store.
fn failed(error: StoreError, asked: &[String]) -> Failure {
    if let StoreError::Broken(why) = &error
        && asked.iter().any(|sql| why.contains(&format!("{sql:?}")))
    {
        return Failure::could_not_run(format!("[audit] expect: {why}")).help(
            "correct the query: it reads tables of the store's own file or database, and its first \
             column is command ids",
        );
    }
    error.into()
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

/// For people.
pub(super) fn tell(checked: &Checked) -> String {
    let (report, counts) = (&checked.report, &checked.report.checked);
    let mut what = format!("{} commands, {} events", counts.commands, counts.events);
    if checked.expects {
        what.push_str(&format!(", {} expected ids", counts.expected));
    }
    if checked.inbox {
        what.push_str(&format!(", {} keys of the receiver", counts.keys));
    }
    let looked_into = match counts.acknowledged {
        0 => String::new(),
        1 => "; 1 contradiction was looked into".to_owned(),
        many => format!("; {many} contradictions were looked into"),
    };
    let verdict = if report.holds { "holds" } else { "does not hold" };
    let mut lines = vec![format!("the audit {verdict}: {what} checked{looked_into}")];
    for violation in report.violations.iter().take(SHOWN) {
        lines.push(format!("{}  {}", violation.code, cell(&violation.text)));
    }
    let shown = report.violations.len().min(SHOWN) as u64;
    if report.found > shown {
        lines.push(format!("and {} more", report.found - shown));
    }
    if checked.serves_all && report.violations.iter().any(|found| found.code == MISSING_THERE) {
        lines.push(
            "every command was taken for one of this receiver's: where there are others, name \
             what it serves with --destination"
                .into(),
        );
    }
    lines.join("\n")
}
