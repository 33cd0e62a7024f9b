//! From settings and variables to a tracer whose spans arrive.
//!
//! Guarantees: everything that can be refused is refused before anything is sent. Does not: wait
//! for the collector.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use counterfoil_relay::{OtelTracer, Tracer};
use hyper::header::{HeaderName, HeaderValue};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;

use super::collector::Collector;
use super::queue::{self, Batching, Sending};
use super::variables::{SERVICE, Variables};
use crate::config::TelemetrySettings;
use crate::exit::Failure;

/// Where a collector takes traces, below its endpoint.
const PATH: &str = "/v1/traces";

/// Spans that are made and sent.
#[derive(Debug)]
pub(super) struct Exporting {
    provider: SdkTracerProvider,
    sending: Sending,
}

impl Exporting {
    /// Begins, for the relay called `owner`.
    ///
    /// # Errors
    /// The endpoint is no URL, a header is none, or there is no TLS.
    pub(super) fn begin(
        settings: TelemetrySettings,
        variables: &Variables,
        owner: &str,
    ) -> Result<Self, Failure> {
        let resource = resource(settings.service.as_deref(), variables, owner);
        let exporter = exporter(settings, variables)?;
        let batching = Batching {
            queue_max: variables.queue_max,
            batch_max: variables.batch_max,
            delay: variables.delay,
            timeout: variables.timeout,
        };
        let (queue, sending) = queue::begin(of(exporter, &resource), batching);
        let provider =
            SdkTracerProvider::builder().with_resource(resource).with_span_processor(queue).build();
        Ok(Self { provider, sending })
    }

    /// What makes the spans.
    pub(super) fn tracer(&self) -> Arc<dyn Tracer> {
        Arc::new(OtelTracer::new(self.provider.tracer("counterfoil")))
    }

    /// Sends what waits, for a while at most.
    pub(super) async fn end(self) {
        self.sending.end().await;
    }
}

/// An exporter that says of whom its spans are.
fn of(mut exporter: SpanExporter, resource: &Resource) -> SpanExporter {
    opentelemetry_sdk::trace::SpanExporter::set_resource(&mut exporter, resource);
    exporter
}

fn resource(service: Option<&str>, variables: &Variables, owner: &str) -> Resource {
    let builder = Resource::builder().with_attributes([
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", owner.to_owned()),
    ]);
    if variables.has_service {
        return builder.build();
    }
    builder.with_service_name(service.unwrap_or(SERVICE).to_owned()).build()
}

/// The exporter leaves out what is no header, and says nothing.
fn check(headers: &BTreeMap<String, String>) -> Result<(), Failure> {
    for (name, value) in headers {
        if HeaderName::from_bytes(name.as_bytes()).is_err() || HeaderValue::from_str(value).is_err()
        {
            let text = format!("`telemetry.headers.{name}`: no header can carry it");
            return Err(Failure::could_not_run(text).help(
                "use letters, digits and hyphens in the name, and printable ASCII in the value",
            ));
        }
    }
    Ok(())
}

fn exporter(settings: TelemetrySettings, variables: &Variables) -> Result<SpanExporter, Failure> {
    let named = variables.endpoint.and_then(|name| std::env::var(name).ok());
    let endpoint = match (&named, settings.endpoint) {
        (None, Some(endpoint)) => Some(format!("{endpoint}{PATH}")),
        _ => None,
    };
    let shown = named.as_deref().or(endpoint.as_deref()).unwrap_or_default().trim();
    let key = variables.endpoint.unwrap_or("telemetry.endpoint");
    if !shown.starts_with("http://") && !shown.starts_with("https://") {
        let text = format!("{key} is no URL of the form http://… or https://…");
        return Err(Failure::could_not_run(text)
            .help("name a collector's port for OTLP over HTTP, such as http://127.0.0.1:4318"));
    }
    check(&settings.headers)?;
    let collector = Collector::new(shown.starts_with("https://"))?;
    let mut builder = SpanExporter::builder()
        .with_http()
        .with_http_client(collector)
        .with_headers(settings.headers.into_iter().collect::<HashMap<_, _>>())
        .with_retry_policy(RetryPolicy::recommended())
        .with_timeout(variables.timeout);
    if let Some(endpoint) = &endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    let exporter = builder.build().map_err(|error| {
        Failure::could_not_run(format!("{key}: no traces can be sent: {error}"))
            .help("see docs/traces.md for the variables that are read")
    })?;
    // A URL may hold a password before the `@`.
    let endpoint = shown.rsplit('@').next().unwrap_or_default();
    tracing::info!(endpoint, "attempts are traced");
    Ok(exporter)
}
