//! `drill`: pays orders, delivers them to another process, kills on the way, proves the books.
//!
//! Guarantees: exit 0 only if every order has exactly one effect, every command exactly one
//! completed receipt, and the audit holds. Does not: touch a store that it was not given by
//! `--store`.

mod book;
mod cast;
mod moment;
mod order;
mod pay;
mod plan;
mod process;
mod run;
mod site;

use std::io::Write;

use counterfoil_sqlite::Options;

use super::{audit, block_on, open};
use crate::args::{Drill, Part, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::output;

use book::Books;
use moment::Moment;
use run::Run;
use site::{EXPECT, Site};

/// Does `drill`.
///
/// # Errors
/// A flag is not yet known, or a process or file of the drill fails.
pub(crate) fn run(shared: &Shared, args: &Drill) -> Ended {
    if args.part == Some(Part::Pay) {
        return pay::run(shared, args);
    }
    check_contract(&args.contract)?;
    let site = Site::new(shared.store.as_deref(), args.keep)?;
    say(&format!(
        "drill: {} orders, {} relays, seed {}: killing on purpose, please wait",
        args.orders, args.relays, args.seed
    ));
    let played = Run::new(&site, args)?.play(args.seed)?;
    let books = Books::read(&site)?;
    output::line(&format!("{}\n", Moment::table(&played.moments)))?;
    output::line(&books.table(played.kills))?;
    let mut differences = played.broken;
    differences.extend(books.differences(args.orders));
    let checked = audited(&site)?;
    output::line(&audit::tell(&checked))?;
    differences.extend(checked.report.violations.into_iter().map(|found| found.text));
    if site.stays {
        say(&format!("the files of the drill stay in {}", site.folder().display()));
    }
    if differences.is_empty() {
        output::line("every order has exactly one effect, every command exactly one receipt")?;
        return Ok(Exit::Done);
    }
    for line in book::shown(&differences) {
        output::line(&format!("differs: {line}"))?;
    }
    Ok(Exit::Refused)
}

/// The audit of the shop's store: its laws, its orders, and the receiver's book.
fn audited(site: &Site) -> Result<audit::Checked, Failure> {
    let store = open(&site.store, Options::default())?;
    let expect = vec![(EXPECT.to_owned(), Some(order::KIND.to_owned()))];
    let receiver = audit::Receiver { path: &site.shipping, destinations: &[] };
    block_on(audit::check(&store, expect, Some(receiver)))
}

fn check_contract(contract: &str) -> Result<(), Failure> {
    match contract {
        "idempotent" => Ok(()),
        "askable" => Err(Failure::not_yet("a drill with a receiver that can be asked")),
        "none" => Err(Failure::not_yet("a drill with a receiver that knows no keys")),
        other => {
            Err(Failure::could_not_run(format!("--contract {other}: there is no such contract"))
                .help("give idempotent"))
        }
    }
}

/// Talk goes to stderr; if that is gone, the drill goes on.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
