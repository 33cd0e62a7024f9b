//! Traces of a relay, sent to a collector by OTLP over HTTP.
//!
//! Guarantees: nothing is traced where no endpoint is named; a collector that is slow or gone
//! slows and stops nothing, and costs the traces alone. The standard variables of OpenTelemetry
//! rule over `[telemetry]`. Does not: send logs or metrics.

#[cfg(feature = "otlp")]
mod collector;
#[cfg(feature = "otlp")]
mod export;
#[cfg(feature = "otlp")]
mod queue;
mod variables;

use counterfoil_relay::Options;

use crate::config::TelemetrySettings;
use crate::exit::Failure;
use variables::Variables;

/// Traces that are being sent, or none.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    #[cfg(feature = "otlp")]
    exporting: Option<export::Exporting>,
}

impl Telemetry {
    /// Begins to send traces of the relay with these options, where an endpoint is named; the
    /// options with their tracer. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// A variable or the table says what this command cannot do.
    pub(crate) fn start(
        settings: TelemetrySettings,
        options: Options,
    ) -> Result<(Self, Options), Failure> {
        let variables = Variables::read(|name| std::env::var(name).ok())?;
        if variables.is_off || (variables.endpoint.is_none() && settings.endpoint.is_none()) {
            return Ok((Self::default(), options));
        }
        Self::begin(settings, &variables, options)
    }

    #[cfg(feature = "otlp")]
    fn begin(
        settings: TelemetrySettings,
        variables: &Variables,
        options: Options,
    ) -> Result<(Self, Options), Failure> {
        let exporting = export::Exporting::begin(settings, variables, &options.owner)?;
        let options = options.tracer(exporting.tracer());
        Ok((Self { exporting: Some(exporting) }, options))
    }

    #[cfg(not(feature = "otlp"))]
    fn begin(
        settings: TelemetrySettings,
        variables: &Variables,
        options: Options,
    ) -> Result<(Self, Options), Failure> {
        if let Some(name) = variables.endpoint {
            tracing::warn!("{name} is set, but this build sends no traces: it lacks `otlp`");
            return Ok((Self::default(), options));
        }
        let (endpoint, service) = (settings.endpoint.unwrap_or_default(), settings.service);
        let text = format!(
            "`telemetry.endpoint` is {endpoint}, for {}, but this build sends no traces",
            service.as_deref().unwrap_or(variables::SERVICE),
        );
        Err(Failure::could_not_run(text)
            .help("build counterfoil-cli with its feature `otlp`, or remove [telemetry]"))
    }

    /// Sends what waits, for a while at most.
    pub(crate) async fn end(self) {
        #[cfg(feature = "otlp")]
        if let Some(exporting) = self.exporting {
            exporting.end().await;
        }
    }
}
