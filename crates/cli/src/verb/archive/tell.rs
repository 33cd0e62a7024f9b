//! What a run and a verification came to, for people and as JSON.
//!
//! Guarantees: what stays is told with its reason. Does not: tell content.

use std::path::Path;

use counterfoil_archive::{ArchiveReport, EventFileReport, FileReport, Finding, VerifyReport};
use counterfoil_core::domain::laws::Violation;
use counterfoil_core::port::archive::Kept;
use counterfoil_core::port::bodies::KeptBodies;
use serde_json::{Value, json};

use crate::output::counted;
use crate::output::table::cell;

/// How many lines of a kind are shown to people.
const SHOWN: usize = 50;

/// A run, for people.
pub(super) fn run(report: &ArchiveReport, dir: &Path) -> String {
    let (moved, dir) = (report.buried(), dir.display());
    let mut lines = match report.files.len() {
        0 if !report.events.is_empty() => Vec::new(),
        0 => vec![format!("nothing to archive; {dir} is as it was")],
        1 => vec![format!("{} moved into 1 file in {dir}", commands(moved))],
        files => vec![format!("{} moved into {files} files in {dir}", commands(moved))],
    };
    for file in &report.files {
        lines.push(of_file(file));
        lines.extend(lost(file));
    }
    if !report.events.is_empty() {
        let files = counted(report.events.len() as u64, "file");
        lines.push(format!("{} moved into {files} in {dir}", bodies(report.taken())));
        lines.extend(report.events.iter().map(of_events));
    }
    lines.extend(kept(&report.kept));
    lines.extend(kept_bodies(&report.kept_bodies));
    if report.broken > 0 {
        lines.push(format!("{} stayed, as the laws are broken:", commands(report.broken)));
        let shown = report.violations.iter().take(SHOWN);
        lines.extend(shown.map(|found| format!("{}  {}", found.code, cell(&found.text))));
        lines.push("see `counterfoil audit`, and `counterfoil explain CODE`".into());
    }
    lines.join("\n")
}

fn of_file(file: &FileReport) -> String {
    let mut line = format!("{}: {}", file.name, commands(file.commands));
    if file.resumed {
        line.push_str(&format!(
            ", of a run that was cut short; this one removed {} of them",
            file.buried
        ));
    }
    if !file.left.is_empty() {
        let first = file.left.first().map(|id| cell(id)).unwrap_or_default();
        line.push_str(&format!(
            "; {} left in the store, as something happened meanwhile, such as {first}",
            file.left.len()
        ));
    }
    if !file.elsewhere.is_empty() {
        let (count, were) = match file.elsewhere.len() {
            1 => (1, "was"),
            more => (more, "were"),
        };
        line.push_str(&format!(
            "; {count} {were} archived from elsewhere; this file holds copies that do not count"
        ));
    }
    line
}

/// What a file holds and the store does not know.
fn lost(file: &FileReport) -> Option<String> {
    let first = cell(file.lost.first()?);
    let what = match file.lost.len() {
        1 => format!("command {first} of it is in no table of the store: it"),
        many => {
            format!("{many} of its commands are in no table of the store, such as {first}: each")
        }
    };
    Some(format!(
        "CF1130  {}: {what} may act again under its id; compare the store with a backup, and see \
         `counterfoil archive --verify`",
        file.name
    ))
}

/// Why something stays.
fn kept(kept: &Kept) -> Vec<String> {
    let why = [
        (kept.contradicted, "a report says otherwise: `show` it, then `resolve` it"),
        (kept.of_workflow, "a workflow needs them"),
        (kept.unreadable, "they cannot be read"),
        (kept.newest, "the newest row of the store stays, so that its number is not given twice"),
    ];
    let some = why.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, why)| format!("{} stayed: {why}", commands(count))).collect()
}

fn of_events(file: &EventFileReport) -> String {
    let mut line = format!("{}: {}", file.name, counted(file.events, "event"));
    if file.resumed {
        let taken = file.taken;
        line.push_str(&format!(", of a run that was cut short; this one took {taken} of them"));
    }
    if file.left > 0 {
        line.push_str(&format!(
            "; {} are copies: something happened to their workflows meanwhile, or another run took \
             them",
            file.left
        ));
    }
    line
}

/// Why bodies stay.
fn kept_bodies(kept: &KeptBodies) -> Vec<String> {
    let why = [
        (kept.quarantined, "workflow", "quarantined, and may need its history"),
        (kept.without_snapshot, "workflow", "running, and has no snapshot of its program"),
        (kept.unreadable, "event", "not to be read"),
    ];
    let some = why.into_iter().filter(|(count, ..)| *count > 0);
    some.map(|(count, what, why)| match count {
        1 => format!("1 {what} keeps its bodies: it is {why}"),
        count => format!("{count} {what}s keep their bodies: each is {why}"),
    })
    .collect()
}

fn bodies(count: u64) -> String {
    if count == 1 { "1 body of an event".into() } else { format!("{count} bodies of events") }
}

fn commands(count: u64) -> String {
    counted(count, "command")
}

/// A run, as JSON.
pub(super) fn run_json(report: &ArchiveReport) -> Value {
    let file = |file: &FileReport| {
        json!({
            "file": file.name, "commands": file.commands, "moved": file.buried,
            "left": file.left, "elsewhere": file.elsewhere, "lost": file.lost,
            "resumed": file.resumed,
        })
    };
    let events = |file: &EventFileReport| {
        json!({
            "file": file.name, "events": file.events, "moved": file.taken, "left": file.left,
            "resumed": file.resumed,
        })
    };
    let violation = |found: &Violation| {
        let Violation { code, ids, text } = found;
        json!({ "code": code, "ids": ids, "text": text })
    };
    let kept = &report.kept;
    json!({
        "moved": report.buried(),
        "files": report.files.iter().map(file).collect::<Vec<_>>(),
        "kept": {
            "contradicted": kept.contradicted, "of_workflow": kept.of_workflow,
            "unreadable": kept.unreadable, "newest": kept.newest, "broken": report.broken,
        },
        "violations": report.violations.iter().map(violation).collect::<Vec<_>>(),
        "bodies": {
            "moved": report.taken(),
            "files": report.events.iter().map(events).collect::<Vec<_>>(),
            "kept": {
                "quarantined": report.kept_bodies.quarantined,
                "without_snapshot": report.kept_bodies.without_snapshot,
                "unreadable": report.kept_bodies.unreadable,
            },
        },
    })
}

/// A verification, for people.
pub(super) fn verify(report: &VerifyReport) -> String {
    let verdict = if report.holds { "holds" } else { "does not hold" };
    let (files, lines, tombstones) = (report.files, report.commands, report.tombstones);
    let mut said = vec![format!(
        "the archive {verdict}: {files} file{}, {} and {tombstones} tombstone{} checked",
        if files == 1 { "" } else { "s" },
        commands(lines),
        if tombstones == 1 { "" } else { "s" },
    )];
    if report.events > 0 || report.bodies > 0 {
        let (lines, rows) = (counted(report.events, "line"), bodies(report.bodies));
        said.push(format!("of workflows: {lines}, and {rows} that lie in files"));
    }
    let shown = report.findings.iter().take(SHOWN);
    said.extend(shown.map(|found| format!("{}  {}", found.code, cell(&found.text))));
    let shown = report.findings.len().min(SHOWN) as u64;
    if report.found > shown {
        said.push(format!("and {} more", report.found - shown));
    }
    said.join("\n")
}

/// A verification, as JSON.
pub(super) fn verify_json(report: &VerifyReport) -> Value {
    let finding = |found: &Finding| {
        let Finding { code, file, ids, text } = found;
        json!({ "code": code, "file": file, "ids": ids, "text": text })
    };
    json!({
        "holds": report.holds,
        "files": report.files,
        "commands": report.commands,
        "tombstones": report.tombstones,
        "events": report.events,
        "bodies": report.bodies,
        "found": report.found,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_moved_and_what_stayed_and_why() {
        let dir = Path::new("old");
        let nothing = ArchiveReport::default();
        assert_eq!(run(&nothing, dir), "nothing to archive; old is as it was");
        let file = FileReport {
            name: "f.jsonl.zst".into(),
            commands: 3,
            buried: 2,
            left: vec!["c-1".into()],
            elsewhere: Vec::new(),
            lost: Vec::new(),
            resumed: false,
        };
        let copies = FileReport {
            left: Vec::new(),
            elsewhere: vec!["c-2".into(), "c-3".into()],
            ..file.clone()
        };
        let said = of_file(&copies);
        assert!(said.ends_with(
            "; 2 were archived from elsewhere; this file holds copies that do not count"
        ));
        assert!(!said.contains("left in the store"), "{said}");
        let kept = Kept { contradicted: 1, newest: 1, ..Kept::default() };
        let report = ArchiveReport { files: vec![file], kept, ..nothing };
        let said = run(&report, dir);
        assert!(said.starts_with("2 commands moved into 1 file in old\n"), "{said}");
        assert!(said.contains("f.jsonl.zst: 3 commands; 1 left in the store"), "{said}");
        assert!(said.contains("such as c-1"), "{said}");
        assert!(said.contains("1 command stayed: a report says otherwise"), "{said}");
    }
}
