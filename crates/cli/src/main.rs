//! The `counterfoil` command: what was typed, what it means, what is done.
//!
//! Guarantees: every error is a line with its way out, and an exit code of 0, 1 or 2. Does not:
//! hold any rule of its own; the only place that knows concrete stores and transports.

mod args;
mod config;
mod exit;
mod logging;
mod output;
mod store;
mod telemetry;
mod verb;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let text = format!("this is a fault of counterfoil itself, at {place}");
        let failure = exit::Failure::could_not_run(text).help("please report it");
        // Stderr is all that is left.
        let _ = failure.say(args::LogFormat::Text);
    }));
    let typed = args::Typed::parse();
    let format = typed.shared.log_format;
    // The hook has said what happened; only the exit code is left to give.
    match std::panic::catch_unwind(|| verb::run(typed)) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => failure.say(format),
        Err(_) => ExitCode::from(2),
    }
}
