//! Every Rust file is compiled: a `mod` names it, or cargo takes it as the root of a target.
//!
//! Guarantees: finds files that no root of their crate reaches.
//! Does not: understand modules inside inline modules, or files drawn in by `include!`.

use std::collections::BTreeSet;

use anyhow::Result;
use toml::{Table, Value};

use super::finding::Finding;
use super::rust_code::words;
use super::source::{File, Tree};

const RULE: &str = "orphan";

/// Finds files that no module names.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut reached = BTreeSet::new();
    let mut crates = BTreeSet::new();
    for manifest in tree.all().filter(|file| is_manifest(&file.path)) {
        let folder = manifest.path.trim_end_matches("Cargo.toml");
        crates.insert(folder);
        let named = named_roots(manifest).unwrap_or_default();
        for root in tree.ending(".rs") {
            let Some(inside) = root.path.strip_prefix(folder) else { continue };
            if is_root(inside) || named.iter().any(|path| path == inside) {
                follow(tree, root, true, &mut reached);
            }
        }
    }
    let ours = tree.ending(".rs").filter(|file| crates.iter().any(|at| file.path.starts_with(at)));
    ours.filter(|file| !reached.contains(file.path.as_str()))
        .map(|file| {
            let says = "no `mod` names this file, so it is never compiled; name it or remove it";
            Finding::broken(RULE, (&file.path, 1), says.to_owned())
        })
        .collect()
}

fn is_manifest(path: &str) -> bool {
    path.ends_with("/Cargo.toml")
}

/// Targets with a path of their own.
fn named_roots(manifest: &File) -> Result<Vec<String>> {
    let manifest: Table = manifest.text.parse()?;
    let mut paths = Vec::new();
    for kind in ["lib", "bin", "test", "bench", "example"] {
        let targets = match manifest.get(kind) {
            Some(Value::Array(targets)) => targets.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        let found = targets.iter().filter_map(|target| target.get("path")?.as_str());
        paths.extend(found.map(str::to_owned));
    }
    Ok(paths)
}

/// Whether cargo takes the file, seen from its crate's folder, as the root of a target.
fn is_root(inside: &str) -> bool {
    let parts: Vec<&str> = inside.split('/').collect();
    match parts.as_slice() {
        ["src", rest @ ..] => {
            matches!(rest, ["lib.rs" | "main.rs"] | ["bin", _] | ["bin", _, "main.rs"])
        }
        ["tests" | "examples" | "benches", rest @ ..] => matches!(rest, [_] | [_, "main.rs"]),
        other => other == ["build.rs"],
    }
}

fn follow<'a>(tree: &'a Tree, file: &'a File, root: bool, reached: &mut BTreeSet<&'a str>) {
    if !reached.insert(&file.path) {
        return;
    }
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let below = match name.trim_end_matches(".rs") {
        "mod" => folder.to_owned(),
        _ if root => folder.to_owned(),
        stem => format!("{folder}/{stem}"),
    };
    for module in modules(file) {
        let places = [
            format!("{below}/{module}.rs"),
            format!("{below}/{module}/mod.rs"),
            // `#[path]` counts from the folder of the file itself.
            format!("{folder}/{module}"),
        ];
        for next in places.iter().filter_map(|path| tree.at(path)) {
            follow(tree, next, false, reached);
        }
    }
}

/// Names in `mod name;`, and the files in `#[path = "…"]`.
fn modules(file: &File) -> Vec<String> {
    let words = words(file.code());
    let mut names = Vec::new();
    for three in words.windows(3) {
        if three[0].text == "mod" && three[2].text == ";" {
            names.push(three[1].text.trim_start_matches("r#").to_owned());
        }
    }
    let paths = file.text.lines().filter_map(|line| {
        line.trim_start().strip_prefix("#[path = \"")?.split('"').next().map(str::to_owned)
    });
    names.extend(paths);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) =
        ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n[[bin]]\npath = \"src/start.rs\"");

    fn orphans(files: &[(&str, &str)]) -> Vec<String> {
        let all = [&[MANIFEST], files].concat();
        check(&Tree::sample(&all)).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn a_file_that_no_module_names_fails() {
        let files = [
            ("crates/a/src/lib.rs", "mod lease; // mod token;\nmod port;"),
            ("crates/a/src/lease.rs", "#[cfg(unix)] mod token;"),
            ("crates/a/src/lease/token.rs", ""),
            ("crates/a/src/port/mod.rs", "pub mod clock;"),
            ("crates/a/src/port/clock.rs", ""),
            ("crates/a/src/token.rs", ""),
            ("crates/a/tests/it/main.rs", "mod claim;"),
            ("crates/a/tests/it/claim.rs", ""),
            ("crates/a/tests/it/settle.rs", ""),
        ];
        assert_eq!(orphans(&files), ["crates/a/src/token.rs", "crates/a/tests/it/settle.rs"]);
    }

    #[test]
    fn roots_and_named_paths_are_reached() {
        let files = [
            ("crates/a/build.rs", ""),
            ("crates/a/src/start.rs", "#[path = \"odd.name.rs\"]\nmod odd;"),
            ("crates/a/src/odd.name.rs", ""),
            ("crates/a/examples/pay.rs", ""),
            ("scripts/outside.rs", ""),
        ];
        assert_eq!(orphans(&files), Vec::<String>::new());
    }
}
