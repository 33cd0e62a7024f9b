//! The development commands of Counterfoil, run as `cargo xtask <command>`.
//!
//! Guarantees: each command says what it does on stderr and ends non-zero at its first failure.
//! Does not: ship with the product, or know anything of what the product does.

mod command_line;
mod deny;
mod lint;
mod msrv;
mod need;
mod server;
mod simulate;
mod stage;
mod tally;
mod test;
mod tidy;

use std::process::ExitCode;

use command_line::Command;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let command = match command_line::read(&words) {
        Ok(command) => command,
        Err(why) => {
            eprintln!("error: {why}\n\n{}", command_line::USAGE);
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Help => {
            eprintln!("{}", command_line::USAGE);
            Ok(())
        }
        Command::Test(choice) => test::run(&choice),
        Command::Tidy => tidy::run(),
        Command::Lint => lint::run(),
        Command::Orms => test::orms().run(),
        Command::Simulate(words) => simulate::run(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("\nfailed: {why:#}");
            ExitCode::FAILURE
        }
    }
}
