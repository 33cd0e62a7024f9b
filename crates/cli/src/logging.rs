//! Talk on stderr: log lines for people, or JSON for machines.
//!
//! Guarantees: the members of JSON lines are those of `docs/operations.md`; stdout is never
//! touched; no colour where stderr is no terminal or NO_COLOR is set. Does not: log bodies or
//! secrets.

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::{LogFormat, Shared};
use crate::exit::Failure;

/// The environment variable that sets the level.
pub(crate) const VARIABLE: &str = "COUNTERFOIL_LOG";
/// Where the lines of the pool of PostgreSQL connections come from.
const POOL: &str = "deadpool.postgres";

/// Starts logging for the rest of the process.
///
/// # Errors
/// The variable holds no level.
pub(crate) fn start(shared: &Shared) -> Result<(), Failure> {
    let level = level(shared.verbose, std::env::var(VARIABLE).ok().as_deref())?;
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let targets = Targets::new().with_default(level).with_target(POOL, of_pool(level));
    let builder = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(level)
        .with_target(false)
        .with_span_events(FmtSpan::NONE)
        .with_ansi(std::io::stderr().is_terminal() && !no_color);
    // Set twice only where a test calls it twice: the first one stays.
    let _ = match shared.log_format {
        LogFormat::Text => builder.finish().with(targets).try_init(),
        // Spans would bring members of their own, which no page names.
        LogFormat::Json => builder
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .finish()
            .with(targets)
            .try_init(),
    };
    Ok(())
}

/// What the pool of PostgreSQL connections says of each that broke is said again, in words, by
/// whoever needed it.
fn of_pool(level: LevelFilter) -> LevelFilter {
    if level >= LevelFilter::DEBUG { level } else { LevelFilter::OFF }
}

fn level(verbose: u8, variable: Option<&str>) -> Result<LevelFilter, Failure> {
    match (verbose, variable.filter(|text| !text.is_empty())) {
        (0, None) => Ok(LevelFilter::INFO),
        (0, Some(text)) => text.parse().map_err(|_| {
            Failure::could_not_run(format!("{VARIABLE} is no level: {text:?}"))
                .help("set it to error, warn, info, debug or trace")
        }),
        (1, _) => Ok(LevelFilter::DEBUG),
        (_, _) => Ok(LevelFilter::TRACE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_rules_over_the_variable_and_a_wrong_word_is_refused() {
        assert_eq!(level(0, None), Ok(LevelFilter::INFO));
        assert_eq!(level(0, Some("warn")), Ok(LevelFilter::WARN));
        assert_eq!(level(1, Some("warn")), Ok(LevelFilter::DEBUG));
        assert!(level(0, Some("loud")).unwrap_err().whole().contains("error, warn"));
    }
}
