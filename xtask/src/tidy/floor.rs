//! Crates depend on lower floors only: the table below is the house as `ARCHITECTURE.md` draws it.
//!
//! Guarantees: siblings do not depend on each other, engines not on stores, nothing on `testkit`
//! but tests and the facade's feature for users' tests, and nothing on what stands outside
//! `crates/`; a crate without a floor fails. A store's tests may run the real engines.
//! Does not: look inside a crate; `core`'s two floors are held apart by `domain-purity`.

use anyhow::{Context, Result};
use toml::Table;

use super::finding::Finding;
use super::source::{File, Tree};

const RULE: &str = "floor";

/// Stores stand here, engines above; engines know ports, never stores.
const STORES: u8 = 2;
const ENGINES: u8 = 3;

/// Faults of a real store are tested with them.
const RUN: [&str; 2] = ["counterfoil-relay", "counterfoil-workflow"];

/// What users add.
const FACADE: &str = "counterfoil";

/// Programs around the product, above all floors.
const ATTIC: u8 = 6;

/// Each crate's floor. `testkit` sees core only, and is seen by tests only: our own, and by an
/// optional dependency of the facade those of users.
const FLOORS: &[(&str, u8)] = &[
    ("counterfoil-core", 1),
    ("counterfoil-testkit", 2),
    ("counterfoil-sqlite", STORES),
    ("counterfoil-postgres", STORES),
    ("counterfoil-archive", ENGINES),
    ("counterfoil-relay", ENGINES),
    ("counterfoil-workflow", ENGINES),
    ("counterfoil-inbox", ENGINES),
    ("counterfoil", 4),
    ("counterfoil-console", 4),
    ("counterfoil-cli", 5),
    ("counterfoil-bench", ATTIC),
    ("xtask", ATTIC),
];

/// Finds dependencies that do not point down.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.ending("/Cargo.toml");
    manifests
        .flat_map(|file| {
            check_manifest(file).unwrap_or_else(|why| {
                vec![Finding::broken(RULE, (&file.path, 1), format!("cannot be read: {why:#}"))]
            })
        })
        .collect()
}

fn check_manifest(file: &File) -> Result<Vec<Finding>> {
    let manifest: Table = file.text.parse()?;
    let package = manifest.get("package").and_then(|package| package.get("name"));
    let name = package.and_then(|name| name.as_str()).context("the package has no name")?;
    let broken = |line, says| Finding::broken(RULE, (&file.path, line), says);
    let outside = (!file.path.starts_with("crates/")).then_some(ATTIC);
    let Some(own) = floor_of(name).or(outside) else {
        let says = format!("`{name}` has no floor; give it one in xtask/src/tidy/floor.rs");
        return Ok(vec![broken(1, says)]);
    };
    let mut findings = Vec::new();
    for Dependency { name: on, in_tests, optional } in dependencies(&manifest) {
        let Some(floor) = floor_of(&on) else { continue };
        let only_in_tests = in_tests || (optional && name == FACADE);
        if let Some(why) = refusal((name, own), (&on, floor), only_in_tests) {
            let line = line_of(&file.text, &on);
            findings.push(broken(line, format!("`{name}` depends on `{on}`: {why}")));
        }
    }
    Ok(findings)
}

fn floor_of(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor)
}

fn refusal(of: (&str, u8), on: (&str, u8), only_in_tests: bool) -> Option<&'static str> {
    let testkit = "counterfoil-testkit";
    if of.0 == "xtask" {
        return Some("xtask must build without the product; start the program instead");
    }
    if on.0 == testkit {
        let allowed = only_in_tests && of.0 != "counterfoil-core";
        return (!allowed).then_some("it is for tests above core; make it a dev-dependency");
    }
    if of.0 == testkit && on.0 != "counterfoil-core" {
        return Some("testkit sees core only; use a port");
    }
    if of.1 == STORES && RUN.contains(&on.0) && only_in_tests {
        return None;
    }
    if on.1 >= of.1 {
        return Some("dependencies point down only; move the type to a lower floor");
    }
    let engine_on_store = of.1 == ENGINES && on.1 == STORES && !only_in_tests;
    engine_on_store.then_some("engines know ports, not stores; use core::port")
}

/// A package that a manifest needs.
struct Dependency {
    name: String,
    /// Only its own tests need it.
    in_tests: bool,
    /// Only with a feature.
    optional: bool,
}

fn dependencies(manifest: &Table) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut places = vec![manifest];
    let targets = manifest.get("target").and_then(|target| target.as_table());
    places
        .extend(targets.into_iter().flat_map(|all| all.values()).filter_map(|one| one.as_table()));
    for place in places {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let of_kind = place.get(kind).and_then(|found| found.as_table());
            for (key, value) in of_kind.into_iter().flatten() {
                let renamed = value.get("package").and_then(|package| package.as_str());
                let optional = value.get("optional").and_then(toml::Value::as_bool);
                found.push(Dependency {
                    name: renamed.unwrap_or(key).to_owned(),
                    in_tests: kind == "dev-dependencies",
                    optional: optional.unwrap_or(false),
                });
            }
        }
    }
    found
}

fn line_of(text: &str, dependency: &str) -> usize {
    text.lines().position(|line| line.trim_start().starts_with(dependency)).map_or(1, |n| n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, section: &str, dependency: &str) -> usize {
        let text = format!("[package]\nname = \"{name}\"\n[{section}]\n{dependency} = \"1\"\n");
        check(&Tree::sample(&[("crates/x/Cargo.toml", &text)])).len()
    }

    #[test]
    fn what_points_up_or_aside_fails() {
        let deps = "dependencies";
        assert_eq!(found("counterfoil-core", deps, "counterfoil-sqlite"), 1);
        assert_eq!(found("counterfoil-sqlite", deps, "counterfoil-postgres"), 1);
        assert_eq!(found("counterfoil-relay", deps, "counterfoil-inbox"), 1);
        assert_eq!(found("counterfoil-relay", deps, "counterfoil-sqlite"), 1);
        assert_eq!(found("counterfoil-inbox", "target.'cfg(unix)'.dependencies", "counterfoil"), 1);
        assert_eq!(found("counterfoil-cli", deps, "counterfoil-testkit"), 1);
        assert_eq!(found("counterfoil-testkit", deps, "counterfoil-sqlite"), 1);
        assert_eq!(found("counterfoil-core", "dev-dependencies", "counterfoil-testkit"), 1);
        assert_eq!(found("xtask", deps, "counterfoil-core"), 1);
        assert_eq!(found("counterfoil-cli", deps, "counterfoil-bench"), 1);
        assert_eq!(found("counterfoil-postgres", deps, "counterfoil-relay"), 1);
        assert_eq!(found("counterfoil-postgres", "dev-dependencies", "counterfoil-inbox"), 1);
        assert_eq!(found("counterfoil-shelf", deps, "serde"), 1);
    }

    #[test]
    fn what_points_down_stands() {
        let deps = "dependencies";
        assert_eq!(found("counterfoil-cli", deps, "counterfoil-sqlite"), 0);
        assert_eq!(found("counterfoil", deps, "counterfoil-relay"), 0);
        assert_eq!(found("counterfoil-sqlite", "dev-dependencies", "counterfoil-testkit"), 0);
        assert_eq!(found("counterfoil-inbox", "dev-dependencies", "counterfoil-sqlite"), 0);
        assert_eq!(found("counterfoil-testkit", deps, "counterfoil-core"), 0);
        assert_eq!(found("counterfoil-postgres", "dev-dependencies", "counterfoil-relay"), 0);
    }

    #[test]
    fn what_stands_around_the_product_may_use_all_of_it() {
        let text = "[package]\nname = \"orders\"\n[dependencies]\ncounterfoil-cli = \"1\"\n";
        assert!(check(&Tree::sample(&[("examples/orders/Cargo.toml", text)])).is_empty());
    }

    #[test]
    fn the_facade_alone_may_offer_testkit_by_a_feature() {
        let found = |name: &str, optional: bool| {
            let text = format!(
                "[package]\nname = \"{name}\"\n[dependencies]\n\
                 counterfoil-testkit = {{ version = \"1\", optional = {optional} }}\n"
            );
            check(&Tree::sample(&[("crates/x/Cargo.toml", &text)])).len()
        };
        assert_eq!(found("counterfoil", true), 0);
        assert_eq!(found("counterfoil", false), 1);
        assert_eq!(found("counterfoil-cli", true), 1);
    }

    #[test]
    fn a_renamed_dependency_is_seen() {
        let text = "[package]\nname = \"counterfoil-core\"\n[dependencies]\n\
                    store = { package = \"counterfoil-sqlite\", path = \"x\" }\n";
        assert_eq!(check(&Tree::sample(&[("crates/core/Cargo.toml", text)])).len(), 1);
    }
}
