//! `drill`: pays orders, delivers them to another process, kills on the way, proves the books.
//!
//! Guarantees: exit 0 only if no order acted twice, every order is done once or stands listed for a
//! person as its contract allows, and the audit holds. Does not: touch a store that it was not
//! given by `--store`.

mod book;
mod cast;
mod contract;
mod database;
mod judgement;
mod moment;
mod order;
mod page;
mod pay;
mod plan;
mod process;
mod run;
mod server;
mod site;
mod story;

use std::io::Write;
use std::time::Instant;

use counterfoil_core::audit::How;

use super::{audit, block_on_many};
use crate::args::{Drill, Part, Shared};
use crate::config::store_url::StoreUrl;
use crate::exit::{Ended, Exit, Failure};
use crate::output;
use crate::store::OpenStore;

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
    let site = Site::new(shared.store.as_deref(), args.keep, args.contract)?;
    say(&format!(
        "drill: {} orders, {} relays, seed {}: killing on purpose, please wait",
        args.orders, args.relays, args.seed
    ));
    let played = Run::new(&site, args)?.play(args.seed)?;
    let books = Books::read(&site)?;
    output::line(&format!("{}\n", Moment::table(played.moments)))?;
    output::line(&page::totals(&books, played.kills))?;
    if let Some(waiting) = page::waiting(&books) {
        output::line(&format!("\n{waiting}\n"))?;
    }
    let mut differences = judgement::differences(&books, args.orders, args.contract);
    differences.extend(played.broken);
    let checked = audited(&site)?;
    output::line(&audit::tell(&checked))?;
    differences.extend(checked.report.violations.into_iter().map(|found| found.text));
    if site.stays {
        say(&format!("the files of the drill stay in {}", site.folder().display()));
    }
    if differences.is_empty() {
        output::line(&page::verdict(&books, args.contract))?;
        return Ok(Exit::Done);
    }
    for line in page::differences(&differences) {
        output::line(&format!("differs: {line}"))?;
    }
    Ok(Exit::Refused)
}

/// The audit, again where a server was away in the midst of it: it is not the drill's own, and may
/// be restarted at any time.
fn audited(site: &Site) -> Result<audit::Checked, Failure> {
    let end = Instant::now() + server::PATIENCE;
    let is_server = matches!(site.store, StoreUrl::Postgres(_));
    loop {
        match audited_once(site) {
            Err(_) if is_server && Instant::now() < end => std::thread::sleep(server::PAUSE),
            done => return done,
        }
    }
}

/// The audit of the shop's store: its laws, its orders, and the receiver's inbox where it has one.
fn audited_once(site: &Site) -> Result<audit::Checked, Failure> {
    let expect = vec![(EXPECT.to_owned(), Some(order::KIND.to_owned()))];
    let has_inbox = site.contract.has_inbox();
    let url = StoreUrl::Sqlite(site.shipping.clone());
    let receiver = audit::Receiver { book: audit::Book::Inbox(&url), destinations: &[] };
    let receiver = has_inbox.then_some(receiver);
    block_on_many(async {
        let store = OpenStore::open(&site.store, None).await?;
        audit::check(&store, expect, How::default().full(), receiver).await
    })
}

/// Talk goes to stderr; if that is gone, the drill goes on.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
