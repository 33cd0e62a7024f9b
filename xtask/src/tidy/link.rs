//! Every relative link of a document leads to a file or folder of the tree.
//!
//! Guarantees: finds inline links, images and link definitions outside code.
//! Does not: fetch pages, or look for the heading behind `#`.

use super::finding::Finding;
use super::source::{File, Tree};

const RULE: &str = "link";

/// Finds links that lead nowhere.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.ending(".md").flat_map(|file| check_file(tree, file)).collect()
}

fn check_file(tree: &Tree, file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_fence = false;
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        for target in targets(&without_code(line)) {
            let leads = resolved(&file.path, &target).is_some_and(|path| tree.has(&path));
            if is_relative(&target) && !leads {
                let says = format!("`{target}` leads nowhere; mend the link or write the page");
                findings.push(Finding::broken(RULE, (&file.path, number), says));
            }
        }
    }
    findings
}

fn is_relative(target: &str) -> bool {
    let outside = ["http:", "https:", "mailto:", "#"];
    !target.is_empty() && !outside.iter().any(|start| target.starts_with(start))
}

/// The line with `code` between backticks left out.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

fn targets(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in line.split("](").skip(1) {
        found.push(part.split(')').next().unwrap_or_default());
    }
    if line.trim_start().starts_with('[')
        && let Some((_, target)) = line.split_once("]: ")
    {
        found.push(target);
    }
    // A title may follow the target.
    let first = |target: &str| target.split_whitespace().next().unwrap_or_default().to_owned();
    found.into_iter().map(|target| first(target).trim_matches(['<', '>']).to_owned()).collect()
}

/// The path that a link of `page` means; none if it leaves the tree.
fn resolved(page: &str, target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        parts.clear();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(text: &str) -> usize {
        let files = [("docs/a.md", text), ("docs/b.md", ""), ("crates/core/src/lib.rs", "")];
        check(&Tree::sample(&files)).len()
    }

    #[test]
    fn a_link_that_leads_nowhere_fails() {
        assert_eq!(dead("see [c](c.md)"), 1);
        assert_eq!(dead("![picture](b.md) and [c](../c.md \"title\")"), 1);
        assert_eq!(dead("[c]: c.md"), 1);
        assert_eq!(dead("[up](../../docs/b.md)"), 1);
    }

    #[test]
    fn a_link_that_leads_somewhere_stands() {
        assert_eq!(dead("[b](b.md#words) [b](./b.md) [core](../crates/core) [b](/docs/b.md)"), 0);
        assert_eq!(dead("[web](https://example.org/c.md) [here](#words)"), 0);
        assert_eq!(dead("`[c](c.md)`\n```\n[c](c.md)\n```"), 0);
    }
}
