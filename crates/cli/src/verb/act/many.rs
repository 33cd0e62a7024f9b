//! Acts on what a filter finds.
//!
//! Guarantees: nothing is done before a person or `--yes` said so; what is in doubt is skipped
//! and counted. Does not: act in one transaction; what was done before an error is said.

use std::io::{BufRead, IsTerminal, Write};

use counterfoil_core::bulk::{BulkReport, by_filter};
use counterfoil_core::port::{Actor, Store};
use serde_json::{Value, json};

use super::Wish;
use crate::args::Selection;
use crate::exit::{Ended, Exit, Failure};
use crate::output;
use crate::output::table::cell;
use crate::store::OpenStore;
use crate::verb::Found;
use crate::verb::filter::filter;
use crate::verb::pause::warn_unknown;

/// Acts, and tells.
pub(super) async fn act(
    found: &Found,
    store: &OpenStore,
    selection: Selection,
    wish: Wish,
) -> Ended {
    let destination = selection.filters.destination.clone();
    let (verb, limit) = (wish.act.name(), selection.limit.map_or(0, |limit| limit as usize));
    let filter = filter(selection.filters, store.now()?)?;
    let looked = async || {
        let nobody = Actor { name: String::new(), reason: String::new() };
        let (filter, act) = (filter.clone(), wish.act.clone());
        by_filter(store, filter, act, nobody, limit, true, |_| ()).await
    };
    if selection.dry_run {
        let report = looked().await?;
        if report.found == 0 {
            warn_unknown(found, store, destination.as_deref()).await?;
        }
        return tell(verb, &report, true, selection.json);
    }
    if !selection.yes {
        must_be_a_terminal(verb)?;
        if !is_wanted(verb, &looked().await?)? {
            return Err(Failure::refused("nothing was changed").help("answer yes, or give --yes"));
        }
    }
    let mut done = 0;
    let progress = |report: &BulkReport| done = report.done;
    let acted = by_filter(store, filter, wish.act, wish.actor, limit, false, progress).await;
    match acted {
        Ok(report) => {
            if report.found == 0 {
                warn_unknown(found, store, destination.as_deref()).await?;
            }
            tell(verb, &report, false, selection.json)
        }
        Err(error) => Err(Failure::could_not_run(error).help(format!(
            "{done} commands were done before that, and stay done; the same again does the rest"
        ))),
    }
}

/// A script that forgot the word must not act on whatever matches.
fn must_be_a_terminal(verb: &str) -> Result<(), Failure> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    let text = format!("`{verb}` by filter acts on all that match, and there is nobody to ask");
    Err(Failure::could_not_run(text)
        .help("see how many they are with --dry-run, then give --yes; or name commands by id"))
}

fn is_wanted(verb: &str, foreseen: &BulkReport) -> Result<bool, Failure> {
    let mut err = std::io::stderr();
    writeln!(err, "{}", lines(verb, foreseen, true).join("\n"))?;
    if foreseen.done == 0 {
        return Ok(true);
    }
    write!(err, "{verb} {}? [y/N] ", commands(foreseen.done))?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn tell(verb: &str, report: &BulkReport, dry_run: bool, as_json: bool) -> Ended {
    if as_json {
        output::line(&object(verb, report, dry_run).to_string())?;
    } else {
        output::line(&lines(verb, report, dry_run).join("\n"))?;
    }
    let refused = !dry_run && report.refused_count() > 0;
    Ok(if refused { Exit::Refused } else { Exit::Done })
}

fn lines(verb: &str, report: &BulkReport, dry_run: bool) -> Vec<String> {
    let (found, done) = (commands(report.found), report.done);
    let what = if dry_run { "would be done" } else { "done" };
    let mut lines = vec![format!("{verb}: {found} found, {done} {what}")];
    for (reason, group) in &report.refused {
        let (count, example) = (group.count, cell(&group.example));
        lines.push(format!("left alone: {count}, such as {example}: {reason}"));
    }
    if report.more {
        lines.push("--limit ended it: more may match".into());
    }
    lines
}

fn commands(count: u64) -> String {
    format!("{count} command{}", if count == 1 { "" } else { "s" })
}

fn object(verb: &str, report: &BulkReport, dry_run: bool) -> Value {
    let refused = report.refused.iter().map(|(reason, group)| {
        json!({ "reason": reason, "count": group.count, "example": group.example })
    });
    json!({
        "verb": verb, "dry_run": dry_run, "found": report.found, "done": report.done,
        "refused": refused.collect::<Vec<_>>(), "more": report.more,
    })
}

#[cfg(test)]
mod tests {
    use counterfoil_core::bulk::RefusedGroup;

    use super::*;

    #[test]
    fn it_says_what_was_left_alone_and_why() {
        let group = RefusedGroup { count: 2, example: "a".into() };
        let refused = [("it is in doubt".to_owned(), group)].into();
        let report = BulkReport { found: 3, done: 1, refused, more: true };
        let said = lines("retry", &report, false);
        assert_eq!(said[0], "retry: 3 commands found, 1 done");
        assert_eq!(said[1], "left alone: 2, such as a: it is in doubt");
        assert_eq!(said[2], "--limit ended it: more may match");
        assert!(lines("retry", &report, true)[0].ends_with("1 would be done"));
        assert_eq!(tell("retry", &report, true, false), Ok(Exit::Done));
        assert_eq!(tell("retry", &report, false, true), Ok(Exit::Refused));
    }
}
