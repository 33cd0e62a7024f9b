//! `relay`: delivers the commands of one store until it is told to stop, or until nothing is left.
//!
//! Guarantees: everything that can be refused is refused before anything is sent; a clean end
//! hands back what was not begun. Does not: supervise itself; let the system start it again.

use std::sync::Arc;

use counterfoil_core::domain::Idempotent;
use counterfoil_core::port::store::Remaining;
use counterfoil_relay::transport::http::{HttpOptions, HttpTransport};
use counterfoil_relay::{Options, Served, TracingObserver};

use super::{Found, block_on_many, stop};
use crate::args::{Relay, Shared};
use crate::config::{Config, DestinationSettings, RelaySettings};
use crate::exit::{Ended, Exit, Failure};

/// Does `relay`.
///
/// # Errors
/// The configuration, the store or the system stands in the way.
pub(crate) fn run(shared: &Shared, args: &Relay) -> Ended {
    let found = Found::new(shared)?;
    let Some(config) = &found.config else {
        return Err(Failure::could_not_run("a relay needs a configuration, and there is none")
            .help("write ./counterfoil.toml with a table [destination.NAME], or give --config"));
    };
    let settings = config.relay()?;
    let destinations = config.destinations(&settings, &args.only)?;
    block_on_many(async {
        let served = destinations
            .iter()
            .map(|destination| serve(config, &settings, destination))
            .collect::<Result<Vec<_>, _>>()?;
        let store = found.open_to_send()?;
        let stop = stop::listen(args.end_with_stdin)?;
        let options = options(&settings, args);
        let relay = counterfoil_relay::Relay::new(store, served, options, TracingObserver);
        let end = relay.run(stop).await.map_err(Failure::could_not_run)?;
        match args.until_idle {
            false => Ok(Exit::Done),
            true if end.is_counted => Ok(judge(&end.remaining, &args.only)),
            true => Err(Failure::could_not_run("the store did not say in time what remains")
                .help("look with `counterfoil status`, or run it again")),
        }
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

fn serve(
    config: &Config,
    settings: &RelaySettings,
    destination: &DestinationSettings,
) -> Result<Served, Failure> {
    let contract = &destination.terms.contract;
    let mut options = HttpOptions::new(destination.url.clone());
    options.method.clone_from(&destination.method);
    options.request_timeout = destination.request_timeout;
    options.completion = contract.completion;
    // A connection that is just closing makes an unknown outcome, which cannot be repeated there.
    options.fresh_connections = contract.idempotent == Idempotent::No;
    options.headers.clone_from(&destination.headers);
    options.secrets.clone_from(&destination.secrets);
    options.result_bytes_max = destination.result_bytes_max;
    options.idle_connections_max = settings.workers as usize;
    let transport = HttpTransport::new(options).map_err(|refused| {
        let (file, name) = (config.name(), &destination.name);
        Failure::could_not_run(format!("{file}: [destination.{name}]: {refused}"))
    })?;
    Ok(Served {
        destination: destination.name.clone(),
        terms: Arc::new(destination.terms.clone()),
        transport: Arc::new(transport),
    })
}

/// What is left decides; with `--only` the others do not count.
fn judge(remaining: &Remaining, only: &[String]) -> Exit {
    let unserved = if only.is_empty() { remaining.unserved } else { 0 };
    let left = [("parked", remaining.parked), ("paused", remaining.paused), ("unserved", unserved)];
    let mut exit = Exit::Done;
    for (what, count) in left.into_iter().filter(|(_, count)| *count > 0) {
        tracing::warn!("{count} commands remain {what}: see `counterfoil status`");
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
