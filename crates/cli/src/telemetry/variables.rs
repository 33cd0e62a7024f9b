//! The standard variables of OpenTelemetry, as far as this command reads them itself.
//!
//! Guarantees: what it cannot do is refused by the variable's name; an empty variable is as none.
//! Does not: read endpoint, headers, sampler and resource, which the libraries read.

use std::time::Duration;

use crate::exit::Failure;

/// What a relay is called in traces where nothing says otherwise.
pub(super) const SERVICE: &str = "counterfoil";
/// Where traces go; the first that is set rules.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
/// All that can be spoken.
const PROTOCOL: &str = "http/protobuf";
const TIMEOUTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];

/// What the variables say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variables {
    /// Traces are switched off.
    pub(super) is_off: bool,
    /// The variable that names the endpoint.
    pub(super) endpoint: Option<&'static str>,
    /// A variable names the service.
    pub(super) has_service: bool,
    /// How long one export may take. Default 10 s.
    pub(super) timeout: Duration,
    /// How long a span waits for others. Default 5 s.
    pub(super) delay: Duration,
    /// The most spans that wait. Default 2,048.
    pub(super) queue_max: usize,
    /// The most spans of one export. Default 512.
    pub(super) batch_max: usize,
}

impl Variables {
    /// Reads them by `get`.
    ///
    /// # Errors
    /// One holds what this command cannot do.
    pub(super) fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let get = |name: &str| get(name).filter(|text| !text.trim().is_empty());
        let says = |name: &str, word: &str| get(name).is_some_and(|text| is_word(&text, word));
        let first = |names: [&'static str; 2]| names.into_iter().find(|name| get(name).is_some());
        let is_off = says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none");
        let endpoint = first(ENDPOINTS);
        if let Some(name) = first(PROTOCOLS).filter(|_| !is_off && endpoint.is_some())
            && let Some(protocol) = get(name).filter(|protocol| !is_word(protocol, PROTOCOL))
        {
            let text = format!("{name} is {protocol:?}, which this command cannot speak");
            return Err(Failure::could_not_run(text)
                .help("set it to http/protobuf, and the endpoint to the port for it, often 4318"));
        }
        let number = |name: &'static str, default: u64| match get(name) {
            None => Ok(default),
            Some(text) => text.trim().parse().map_err(|_| {
                Failure::could_not_run(format!("{name} is no number: {text:?}"))
                    .help("give a whole number, or leave it out")
            }),
        };
        let millis = |name, default| number(name, default).map(Duration::from_millis);
        let count = |name, default| {
            let count = usize::try_from(number(name, default)?).unwrap_or(usize::MAX);
            Ok::<_, Failure>(count.clamp(1, 1 << 20))
        };
        let attributes = get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        Ok(Self {
            is_off,
            endpoint,
            has_service: get("OTEL_SERVICE_NAME").is_some() || attributes.contains("service.name="),
            timeout: millis(first(TIMEOUTS).unwrap_or(TIMEOUTS[1]), 10_000)?,
            delay: millis("OTEL_BSP_SCHEDULE_DELAY", 5_000)?,
            queue_max: count("OTEL_BSP_MAX_QUEUE_SIZE", 2_048)?,
            batch_max: count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?,
        })
    }
}

fn is_word(text: &str, word: &str) -> bool {
    text.trim().eq_ignore_ascii_case(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Variables, Failure> {
        let find = |name: &str| set.iter().find(|(set, _)| *set == name);
        Variables::read(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn nothing_is_named_by_default_and_the_variable_of_traces_comes_first() {
        let none = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]).unwrap();
        assert_eq!((none.endpoint, none.is_off, none.has_service), (None, false, false));
        assert_eq!((none.delay, none.queue_max), (Duration::from_secs(5), 2_048));
        let both = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b:4318/x"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "7"),
            ("OTEL_RESOURCE_ATTRIBUTES", "a=b,service.name=shop"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
        ])
        .unwrap();
        assert_eq!(both.endpoint, Some("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"));
        assert_eq!((both.timeout, both.queue_max), (Duration::from_millis(7), 1));
        assert!(both.has_service);
    }

    #[test]
    fn it_is_switched_off_as_the_standard_says() {
        for off in [("OTEL_SDK_DISABLED", "TRUE"), ("OTEL_TRACES_EXPORTER", "none")] {
            let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
            assert!(
                read(&[off, grpc, ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a")]).unwrap().is_off
            );
        }
        assert!(!read(&[("OTEL_SDK_DISABLED", "0")]).unwrap().is_off);
    }

    #[test]
    fn what_it_cannot_do_is_refused_by_name() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4317");
        let refused = read(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err();
        let whole = refused.whole();
        let begin = "OTEL_EXPORTER_OTLP_PROTOCOL is \"grpc\", which";
        assert!(whole.contains(begin) && whole.contains("http/protobuf"), "{whole}");
        let refused = read(&[("OTEL_BSP_SCHEDULE_DELAY", "5s")]).unwrap_err().whole();
        assert!(refused.contains("OTEL_BSP_SCHEDULE_DELAY is no number: \"5s\""), "{refused}");
        // Set for others, while this command is told of no endpoint.
        assert!(read(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).is_ok());
    }
}
