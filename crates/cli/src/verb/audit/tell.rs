//! What `audit` says to people.
//!
//! Guarantees: the first line is the verdict; an audit that looked at less than everything says so.
//! Does not: judge.

use counterfoil_console::json;
use counterfoil_core::audit::{AuditReport, Pass, SealFate, WhyFull};
use serde_json::{Value, json};

use super::Checked;
use crate::output::counted;
use crate::output::table::cell;
use crate::output::time;
use crate::store::lacks_right;

/// How many violations are shown to people.
const SHOWN: usize = 50;

/// What completed has no key in the receiver's book.
const MISSING_THERE: &str = "CF0841";

/// The verdict, and what was found.
pub(crate) fn tell(checked: &Checked) -> String {
    let report = &checked.report;
    let counts = &report.checked;
    let (commands, events) = (counted(counts.commands, "command"), counted(counts.events, "event"));
    let mut what = format!("{commands}, {events}");
    if counts.archived > 0 {
        what.push_str(&format!(", {} archived", counts.archived));
    }
    if checked.expects {
        what.push_str(&format!(", {}", counted(counts.expected, "expected id")));
    }
    if checked.inbox.is_some() {
        what.push_str(&format!(", {} of the receiver", counted(counts.keys, "key")));
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
    let unclear = checked.inbox.as_ref().map_or(0, |inbox| inbox.unclear);
    if unclear > 0 {
        lines.push(format!("{unclear} answers of receivers were neither yes nor no"));
    }
    lines.join("\n")
}

/// How many commands were looked for in the user's own answers and at the receiver, and how far
/// back: a line each.
pub(super) fn looked_at(checked: &Checked) -> Vec<String> {
    let counts = &checked.report.checked;
    let of_kind = |(kind, commands): &(String, u64)| {
        let kind = cell(kind);
        match commands {
            0 => format!(
                "note: no command of kind {kind} stands, so `[audit] expect` could miss none in \
                 its answer: see that the kind is spelt as it is recorded"
            ),
            some => format!(
                "expect: {} of kind {kind} looked for in its answer",
                counted(*some, "command")
            ),
        }
    };
    let mut lines: Vec<String> = checked.report.expected_of.iter().map(of_kind).collect();
    let Some(inbox) = &checked.inbox else { return lines };
    let mut line = format!(
        "the receiver: {} of ours looked up there",
        counted(counts.looked_up, "ended command")
    );
    match inbox.since.map(time::show) {
        None => line.push_str(", whenever they ended"),
        Some(since) => {
            let before = counts.too_old;
            line.push_str(&format!(
                ", which ended since {since}; {before} ended before and were not"
            ));
        }
    }
    if counts.archived_keys > 0 {
        let keys = counted(counts.archived_keys, "key");
        line.push_str(&format!("; {keys} of archived commands compared with what stays of these"));
    }
    lines.push(line);
    lines.extend(inbox.notes.iter().map(|note| format!("note: {}", cell(note))));
    lines
}

/// The whole of it, for machines.
pub(super) fn object(checked: &Checked) -> Value {
    let (mut object, counts) = (json::audit(&checked.report), &checked.report.checked);
    let expected = checked.report.expected_of.iter();
    let expected = expected.map(|(kind, commands)| json!({ "kind": kind, "commands": commands }));
    object["expected"] = expected.collect::<Vec<_>>().into();
    object["inbox"] = checked.inbox.as_ref().map_or(Value::Null, |inbox| {
        json!({
            "keys": counts.keys, "archived_keys": counts.archived_keys,
            "looked_up": counts.looked_up, "not_looked_up": counts.too_old,
            "since": inbox.since.map(time::show), "unclear": inbox.unclear, "notes": inbox.notes,
        })
    });
    object
}

/// What was mended, from where it looked, and what became of the seal: a line each.
///
/// `role` is the one that may write what this audit writes, where there are roles.
pub(super) fn passed(report: &AuditReport, role: Option<&str>) -> Vec<String> {
    let mut lines: Vec<String> = report
        .mended
        .iter()
        .map(|id| {
            format!("mended: {} is uncertain now; ask its receiver, then `resolve`", cell(id))
        })
        .collect();
    if let Some(pass) = &report.pass {
        lines.push(looked(pass));
        lines.push(sealed(&pass.seal, role));
    }
    lines
}

fn looked(pass: &Pass) -> String {
    let before = pass.from.map(|from| {
        format!(
            "the audit that held at {} covers n {} and below",
            time::show(from.sealed_at),
            from.n
        )
    });
    let before = before.unwrap_or_else(|| "no audit held before".to_owned());
    match &pass.full {
        None => {
            let full_at = pass.from.and_then(|from| from.full_at).map(time::show);
            let full_at = full_at.unwrap_or_else(|| "never".to_owned());
            format!("incremental: {before}; everything was last looked at: {full_at}")
        }
        Some(WhyFull::First) => "full: no audit held before".to_owned(),
        Some(WhyFull::Broken) => "full: the last full one did not hold".to_owned(),
        Some(WhyFull::Unreadable(why)) => format!(
            "full: the seal could not be read ({why}), so a new one is begun; what was removed or \
             changed before now it cannot tell"
        ),
        Some(_) => format!("full: {before}"),
    }
}

/// Which role this user would need.
pub(super) fn needs(role: &str) -> String {
    format!("; it needs the role {role} (`counterfoil init --roles`)")
}

fn sealed(fate: &SealFate, role: Option<&str>) -> String {
    match fate {
        SealFate::Renewed(n) => format!("sealed: the next one goes on behind n {n}"),
        SealFate::Violated => "the seal stays where it was: not everything holds".to_owned(),
        SealFate::Open => {
            "the seal stays where it was: a transaction is left open, and what it writes would be \
             passed over"
                .to_owned()
        }
        SealFate::Moved => {
            "the seal was not compared and stays as it is: an archive or an erasure changed it \
             meanwhile; run the audit again when it is through"
                .to_owned()
        }
        SealFate::NotWritten(why) => {
            let role = role.filter(|_| lacks_right(why)).map(needs);
            format!("the seal was not written: {why}{}", role.unwrap_or_default())
        }
        _ => "the seal stays where it was".to_owned(),
    }
}
