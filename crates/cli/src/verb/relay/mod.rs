//! `relay`: delivers the commands of one store until it is told to stop, or until nothing is left.
//!
//! Guarantees: everything that can be refused is refused before anything is sent; the API, where
//! it is configured, listens before the first send and ends after the last; a clean end hands back
//! what was not begun. Does not: supervise itself; let the system start it again.

mod api;
mod summary;

use std::sync::Arc;

use counterfoil_core::port::store::Remaining;
use counterfoil_relay::{Options, RelayEnd, Served};

use super::transport::transport;
use super::{Found, block_on_many, stop};
use crate::args::{Relay, Shared};
use crate::config::{ApiSettings, Config, RelaySettings, Warning, warnings};
use crate::exit::{Ended, Exit, Failure};
use crate::telemetry::Telemetry;
use api::{Counted, RelayBoard, Shown};
use summary::Summary;

/// Does `relay`.
///
/// # Errors
/// The configuration, the store, the address of the API or the system stands in the way.
pub(crate) fn run(shared: &Shared, args: &Relay) -> Ended {
    let found = Found::new(shared)?;
    let Some(config) = &found.config else {
        return Err(Failure::could_not_run("a relay needs a configuration, and there is none")
            .help("write ./counterfoil.toml with a table [destination.NAME], or give --config"));
    };
    let settings = config.relay()?;
    let destinations = config.destinations(&settings, &args.only)?;
    let api = config.api()?;
    let announce = config.announce()?;
    let telemetry = config.telemetry()?;
    // With --only, the destination of alerts may be left to another relay on purpose.
    let all = config.destinations(&settings, &[])?;
    warnings(&all, api.as_ref(), announce.as_ref()).iter().for_each(warn);
    block_on_many(async {
        let receipt_url = api.as_ref().and_then(ApiSettings::receipt_url);
        let served = destinations.iter().map(|destination| {
            let transport = transport(config, &settings, destination, receipt_url.clone())?;
            let (name, terms) = (destination.name.clone(), destination.terms.clone());
            Ok(Served::new(name, terms, transport).limits(destination.limits))
        });
        let served = served.collect::<Result<Vec<_>, Failure>>()?;
        let store = found.open_to_send().await?;
        let stop = stop::listen(args.end_with_stdin)?;
        let options = options(&settings, args);
        let counted = Counted::default();
        let api = match api {
            Some(api) => {
                let shown = shown(config, &settings, &options, &counted)?;
                Some(api::start(&store, api, shown).await?)
            }
            None => None,
        };
        let options = match announce {
            Some(announce) => options.announce(announce),
            None => options,
        };
        let (telemetry, options) = Telemetry::start(telemetry, options)?;
        let summary = Summary::new(counted);
        let relay = counterfoil_relay::Relay::new(store, served, options, summary.clone());
        let end = relay.run(stop).await.map_err(Failure::could_not_run);
        // Receipts were taken as long as sends were in flight.
        let answered = match api {
            Some(api) => api.end().await,
            None => Ok(()),
        };
        telemetry.end().await;
        answered?;
        let end = end?;
        tracing::info!("{summary}{}", left(&end));
        match args.until_idle {
            false => Ok(Exit::Done),
            true if end.is_counted => Ok(judge(&end.remaining, &args.only)),
            true => Err(Failure::could_not_run("the store did not say in time what remains")
                .help("look with `counterfoil status`, or run it again")),
        }
    })
}

/// What is left behind, in one line with what was done.
fn left(end: &RelayEnd) -> String {
    let Remaining { busy, parked, unserved, paused } = end.remaining;
    let all = [("to do", busy), ("parked", parked), ("paused", paused), ("unserved", unserved)];
    let some = all.into_iter().filter(|(_, count)| *count > 0);
    let some: Vec<_> = some.map(|(what, count)| format!("{count} {what}")).collect();
    match (end.is_counted, some.is_empty()) {
        (false, _) => "; what is left was not counted in time".to_owned(),
        (true, true) => "; nothing is left to do".to_owned(),
        (true, false) => format!("; left: {}", some.join(", ")),
    }
}

/// What the API shows of this relay beside its store.
fn shown(
    config: &Config,
    settings: &RelaySettings,
    options: &Options,
    counted: &Counted,
) -> Result<Shown, Failure> {
    let (board, workers) = (Arc::clone(&options.board), settings.workers as usize);
    Ok(Shown {
        served: config.destination_names(),
        expect: config.expect()?,
        drain: settings.drain,
        counters: Arc::clone(&counted.counters),
        board: RelayBoard { board, workers },
    })
}

fn options(settings: &RelaySettings, args: &Relay) -> Options {
    Options::default()
        .workers(settings.workers as usize)
        .poll(settings.poll.to_std())
        .drain(settings.drain.to_std())
        .replace_contract(args.replace_contract)
        .until_idle(args.until_idle)
}

fn warn(warning: &Warning) {
    let destination = Some(warning.destination.as_str()).filter(|name| !name.is_empty());
    tracing::warn!(destination, "{}", warning.text);
}

/// What is left decides; with `--only` the others do not count.
fn judge(remaining: &Remaining, only: &[String]) -> Exit {
    let unserved = if only.is_empty() { remaining.unserved } else { 0 };
    let left = [("parked", remaining.parked), ("paused", remaining.paused), ("unserved", unserved)];
    let mut exit = Exit::Done;
    for (what, count) in left.into_iter().filter(|(_, count)| *count > 0) {
        let remain = if count == 1 { "command remains" } else { "commands remain" };
        tracing::warn!("{count} {remain} {what}: see `counterfoil status`");
        exit = Exit::Refused;
    }
    exit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_makes_exit_1_and_with_only_the_others_do_not_count() {
        let with = |parked, paused, unserved| Remaining { busy: 0, parked, unserved, paused };
        assert_eq!(judge(&with(0, 0, 0), &[]), Exit::Done);
        for remaining in [with(1, 0, 0), with(0, 1, 0), with(0, 0, 1)] {
            assert_eq!(judge(&remaining, &[]), Exit::Refused);
        }
        assert_eq!(judge(&with(0, 0, 1), &["a".into()]), Exit::Done);
        assert_eq!(judge(&with(1, 0, 0), &["a".into()]), Exit::Refused);
    }
}
