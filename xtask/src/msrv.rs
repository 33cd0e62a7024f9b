//! The oldest Rust that the workspace states (`rust-version`), held to what its dependencies need.
//!
//! Guarantees: the stated version is not below any dependency's own, for the platform this runs
//! on; where rustup has the stated toolchain, the workspace is checked with it.
//! Does not: install a toolchain. Newer functions of std are found by clippy's `incompatible_msrv`.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::stage::{Stage, cargo, output_of};

/// Compares the stated version with the dependencies, then checks with that toolchain.
///
/// # Errors
/// A dependency needs a newer Rust than is stated, or the check with the stated one fails.
pub(crate) fn check() -> Result<()> {
    let host = host()?;
    let args = ["metadata", "--format-version=1", "--locked", "--filter-platform", &host];
    let metadata: Value = serde_json::from_str(&output_of(&cargo(), &args)?)
        .context("cargo metadata printed no JSON")?;
    let stated = stated_version(&metadata)?;
    let newer = needing_newer(&metadata, &stated);
    if !newer.is_empty() {
        bail!(
            "rust-version = \"{stated}\" is too old for {}: raise it in the root Cargo.toml",
            newer.join(", ")
        );
    }
    eprintln!("\n==> msrv: no dependency needs more than Rust {stated}");
    check_with(&stated)
}

fn host() -> Result<String> {
    let said = output_of("rustc", &["-vV"])?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

fn check_with(stated: &str) -> Result<()> {
    let installed = output_of("rustup", &["toolchain", "list"]).unwrap_or_default();
    let Some(toolchain) = toolchain_for(&installed, stated) else {
        eprintln!("    note: not checked with it; for that: rustup toolchain install {stated}");
        return Ok(());
    };
    // Its own target folder: sharing one would rebuild everything at each change of toolchain.
    let args = ["run", &toolchain, "cargo", "check", "--workspace", "--all-features"];
    let apart = ["--locked", "--target-dir", "target/msrv"];
    Stage::of("msrv check", "rustup", &[&args[..], &apart].concat()).run()
}

fn toolchain_for(installed: &str, stated: &str) -> Option<String> {
    let names = installed.lines().filter_map(|line| line.split_whitespace().next());
    let mut fitting = names
        .filter(|name| name.strip_prefix(stated).is_some_and(|rest| rest.starts_with(['-', '.'])));
    fitting.next().map(str::to_owned)
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn stated_version(metadata: &Value) -> Result<String> {
    let ours = packages(metadata).filter(|package| package["source"].is_null());
    let mut stated: Vec<&str> = Vec::new();
    for package in ours {
        let name = package["name"].as_str().unwrap_or("?");
        let version = package["rust_version"].as_str();
        stated.push(version.with_context(|| format!("crate {name} states no rust-version"))?);
    }
    stated.sort_unstable();
    stated.dedup();
    match stated.as_slice() {
        [one] => Ok((*one).to_owned()),
        many => bail!("the crates state more than one rust-version: {}", many.join(", ")),
    }
}

fn needing_newer(metadata: &Value, stated: &str) -> Vec<String> {
    let used: Vec<&str> = nodes(metadata);
    let foreign = packages(metadata).filter(|package| {
        !package["source"].is_null() && package["id"].as_str().is_some_and(|id| used.contains(&id))
    });
    let mut newer = Vec::new();
    for package in foreign {
        let needs = package["rust_version"].as_str().unwrap_or("0");
        if parts(needs) > parts(stated) {
            newer.push(format!("{} (Rust {needs})", package["name"].as_str().unwrap_or("?")));
        }
    }
    newer
}

/// The packages that take part on this platform: `packages` alone lists them all.
fn nodes(metadata: &Value) -> Vec<&str> {
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    nodes.filter_map(|node| node["id"].as_str()).collect()
}

fn parts(version: &str) -> [u64; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata() -> Value {
        json!({
            "packages": [
                {"name": "ours", "id": "o", "source": null, "rust_version": "1.89"},
                {"name": "old", "id": "a", "source": "registry", "rust_version": "1.9"},
                {"name": "silent", "id": "b", "source": "registry", "rust_version": null},
                {"name": "equal", "id": "c", "source": "registry", "rust_version": "1.89.0"},
                {"name": "newer", "id": "d", "source": "registry", "rust_version": "1.100"},
                {"name": "elsewhere", "id": "e", "source": "registry", "rust_version": "1.101"},
            ],
            "resolve": {"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}]},
        })
    }

    #[test]
    fn a_dependency_that_needs_a_newer_rust_is_named() {
        assert_eq!(stated_version(&metadata()).unwrap(), "1.89");
        assert_eq!(needing_newer(&metadata(), "1.89"), ["newer (Rust 1.100)"]);
        assert!(needing_newer(&metadata(), "1.100").is_empty());
    }

    #[test]
    fn two_stated_versions_are_refused() {
        let mut metadata = metadata();
        metadata["packages"][1]["source"] = Value::Null;
        assert!(stated_version(&metadata).unwrap_err().to_string().contains("1.89, 1.9"));
    }

    #[test]
    fn only_the_stated_toolchain_fits() {
        let installed = "stable-x86_64 (active, default)\n1.8.0-x86_64\n1.89.0-x86_64\n";
        assert_eq!(toolchain_for(installed, "1.89").as_deref(), Some("1.89.0-x86_64"));
        assert_eq!(toolchain_for("1.890-x86_64", "1.89"), None);
    }
}
