//! What the tests need from the machine beside Rust: a C compiler, Python 3 with sqlite3,
//! the sqlite3 shell, the programs of a PostgreSQL server, `PgBouncer`, `promtool`, `jq`, `zstd`.
//!
//! Guarantees: a missing need is said in one line with the package that brings it; as root on
//! Debian and its kin it is installed.
//! Does not: check versions; tests that need a newer one say so themselves. Or start a server; see
//! `server`.

use std::path::Path;

use anyhow::{Result, bail};

use crate::stage::{Stage, answers, output_of};

/// One program that tests start.
struct Need {
    what: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    package: &'static str,
}

const NEEDS: &[Need] = &[
    Need { what: "a C compiler", program: "cc", args: &["--version"], package: "gcc" },
    Need {
        what: "Python 3 with its sqlite3 module",
        program: "python3",
        args: &["-c", "import sqlite3"],
        package: "python3",
    },
    Need { what: "the sqlite3 shell", program: "sqlite3", args: &["-version"], package: "sqlite3" },
    Need {
        what: "the programs of a PostgreSQL server",
        program: "sh",
        // Debian keeps them beside the path, in a folder for each version.
        args: &["-c", "command -v initdb || ls /usr/lib/postgresql/*/bin/initdb"],
        package: "postgresql",
    },
    Need {
        what: "PgBouncer",
        program: "sh",
        // It lies where the path of a user may not lead.
        args: &["-c", "PATH=$PATH:/usr/sbin pgbouncer --version"],
        package: "pgbouncer",
    },
    // The recipe of docs/archive.md to restore by hand.
    Need { what: "jq", program: "jq", args: &["--version"], package: "jq" },
    Need { what: "zstd, the program", program: "zstd", args: &["--version"], package: "zstd" },
    Need { what: "promtool", program: "promtool", args: &["--version"], package: "prometheus" },
    Need {
        what: "Python 3 with venv",
        program: "python3",
        args: &["-c", "import venv, ensurepip"],
        package: "python3-venv",
    },
    // Root on Linux has a network for each relay that is cut off; others use a proxy.
    Need {
        what: "ip, the program",
        program: "sh",
        args: &["-c", "test \"$(uname) $(id -u)\" != 'Linux 0' || ip -V"],
        package: "iproute2",
    },
];

/// Looks for all that the tests need, and installs what is missing where that is possible.
///
/// # Errors
/// Something is missing and could not be installed; the message names the packages.
pub(crate) fn check() -> Result<()> {
    let mut missing = missing_of(NEEDS);
    if !missing.is_empty() && can_install() {
        // A refused install is no end: the advice below says what a person can do.
        if let Err(why) = install(&missing) {
            eprintln!("note: could not install: {why:#}");
        }
        missing = missing_of(NEEDS);
    }
    if missing.is_empty() { Ok(()) } else { bail!("{}", advice(&missing)) }
}

fn missing_of(needs: &'static [Need]) -> Vec<&'static Need> {
    needs.iter().filter(|need| !answers(need.program, need.args)).collect()
}

fn can_install() -> bool {
    Path::new("/etc/debian_version").exists()
        && output_of("id", &["-u"]).is_ok_and(|id| id.trim() == "0")
}

fn install(missing: &[&Need]) -> Result<()> {
    Stage::of("package lists", "apt-get", &["update"]).run()?;
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    let args = [&["install", "-y"], packages.as_slice()].concat();
    Stage::of("packages", "apt-get", &args).with_env("DEBIAN_FRONTEND", "noninteractive").run()
}

fn advice(missing: &[&Need]) -> String {
    let what: Vec<&str> = missing.iter().map(|need| need.what).collect();
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    format!(
        "the tests need {}: install the packages (Debian, Ubuntu: apt-get install {})",
        what.join(" and "),
        packages.join(" "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: &[Need] =
        &[Need { what: "a unicorn", program: "no-such-unicorn", args: &[], package: "unicorn" }];

    #[test]
    fn a_missing_need_is_said_in_one_line_with_its_package() {
        let said = advice(&missing_of(ABSENT));
        assert!(said.contains("a unicorn") && said.contains("apt-get install unicorn"), "{said}");
        assert_eq!(said.lines().count(), 1);
    }
}
