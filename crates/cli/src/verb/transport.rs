//! The transport of a configured destination: what sends to it, and what asks it.
//!
//! Guarantees: `relay` and `doctor` reach a destination in the same way. Does not: send anything.

use std::sync::Arc;

use counterfoil_core::domain::Idempotent;
use counterfoil_core::port::Transport;
use counterfoil_relay::transport::http::{AskOptions, HttpOptions, HttpTransport, Proxy};
use counterfoil_relay::transport::log::LogTransport;

use crate::config::destination::Way;
use crate::config::{Config, DestinationSettings, RelaySettings};
use crate::exit::Failure;

/// The transport of `destination`; receivers are told to report to `receipt_url`.
///
/// # Errors
/// What the transport refuses, such as a certificate that cannot be read.
pub(super) fn transport(
    config: &Config,
    settings: &RelaySettings,
    destination: &DestinationSettings,
    receipt_url: Option<String>,
) -> Result<Arc<dyn Transport>, Failure> {
    Ok(match destination.way {
        Way::Http => Arc::new(http(config, settings, destination, receipt_url)?),
        Way::Log { body } => Arc::new(LogTransport::new().body(body)),
    })
}

fn http(
    config: &Config,
    settings: &RelaySettings,
    destination: &DestinationSettings,
    receipt_url: Option<String>,
) -> Result<HttpTransport, Failure> {
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
    options.habits.clone_from(&contract.habits);
    options.ask = destination.ask_url.as_ref().map(|url| {
        let mut ask = AskOptions::new(url.clone());
        ask.not_there = contract.ask.as_ref().and_then(|asking| asking.not_there.clone());
        ask
    });
    options.receipt_url = receipt_url;
    options.tls.ca.clone_from(&destination.tls.ca);
    options.tls.cert.clone_from(&destination.tls.cert);
    options.tls.key.clone_from(&destination.tls.key);
    options.proxy = if destination.proxy_of_env { Proxy::Env } else { Proxy::None };
    HttpTransport::new(options).map_err(|refused| {
        let (file, name) = (config.name(), &destination.name);
        Failure::could_not_run(format!("{file}: [destination.{name}]: {refused}"))
    })
}
