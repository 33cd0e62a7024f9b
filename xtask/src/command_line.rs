//! Reads what was typed after `cargo xtask` into a command.
//!
//! Guarantees: an unknown word is refused, never skipped.
//! Does not: run anything.

use anyhow::{Result, bail};

/// What `cargo xtask help` and a wrong word print.
pub(crate) const USAGE: &str = "\
usage: cargo xtask <command>

  test [--fast] [-- ARGS]  everything: tidy, lint, doc tests, tests
                           --fast leaves lint out; ARGS go to the test runner,
                           and then only the tests run
  tidy                     the house rules: sizes, floors, links, forbidden words
  simulate --seeds N [--seed S] [--trace]
                           simulated days of relays and runners, from seed S (default 0) on
  orms                     only the examples of SeaORM and diesel, against the real crates
  lint                     fmt, clippy, rustdoc, MSRV, cargo-deny
  help                     this text";

/// What shall be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Print the usage.
    Help,
    /// Run the tests.
    Test(TestChoice),
    /// Check the house rules.
    Tidy,
    /// Run the simulator with these words.
    Simulate(Vec<String>),
    /// Compile and run the examples of other people's ORMs.
    Orms,
    /// Check format, lints, documentation, MSRV and dependencies.
    Lint,
}

/// How much of `test` shall run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestChoice {
    /// Leave `lint` out.
    pub(crate) fast: bool,
    /// Words for the test runner; if there are any, only the tests run.
    pub(crate) runner_args: Vec<String>,
}

/// Reads the words that stand after `cargo xtask`.
///
/// # Errors
/// A missing or unknown command, or an option that the command does not have.
pub(crate) fn read(words: &[String]) -> Result<Command> {
    let Some((first, rest)) = words.split_first() else {
        bail!("no command given");
    };
    match first.as_str() {
        "test" => Ok(Command::Test(read_test(rest)?)),
        "orms" => alone(Command::Orms, first, rest),
        "tidy" => alone(Command::Tidy, first, rest),
        // The simulator itself refuses what it does not know.
        "simulate" => Ok(Command::Simulate(rest.to_vec())),
        "lint" => alone(Command::Lint, first, rest),
        "help" | "--help" | "-h" => Ok(Command::Help),
        other => bail!("`{other}` is no command of xtask"),
    }
}

fn alone(command: Command, name: &str, rest: &[String]) -> Result<Command> {
    match rest.first() {
        None => Ok(command),
        Some(word) => bail!("`{name}` takes no options, and got `{word}`"),
    }
}

fn read_test(words: &[String]) -> Result<TestChoice> {
    let mut choice = TestChoice::default();
    let mut left = words.iter();
    while let Some(word) = left.next() {
        match word.as_str() {
            "--fast" => choice.fast = true,
            "--" => choice.runner_args = left.by_ref().cloned().collect(),
            other => bail!("`test` has no option `{other}`; filters go after `--`"),
        }
    }
    Ok(choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_stands_after_two_dashes_goes_to_the_runner() {
        let choice = TestChoice { fast: true, runner_args: words("lease --no-capture") };
        let read = read(&words("test --fast -- lease --no-capture")).unwrap();
        assert_eq!(read, Command::Test(choice));
    }

    #[test]
    fn orms_stand_alone() {
        assert_eq!(read(&words("orms")).unwrap(), Command::Orms);
        assert!(read(&words("orms --fast")).is_err());
    }

    #[test]
    fn unknown_words_are_refused_by_name() {
        for (line, named) in [("tset", "tset"), ("test lease", "lease"), ("tidy -v", "-v")] {
            let refusal = read(&words(line)).unwrap_err().to_string();
            assert!(refusal.contains(named), "{line}: {refusal}");
        }
        assert!(read(&[]).is_err());
    }
}
