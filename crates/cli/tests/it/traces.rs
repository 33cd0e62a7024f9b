//! Traces: a real relay between a receiver and a collector that reads what it is sent.
//!
//! Guarantees: spans are those that the collector decodes, headers those that the receiver reads.
//! Does not: know how spans are made.

use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use prost::Message as _;

use crate::http_server::HttpServer;
use crate::program::{Desk, Running, Said, configuration, run, wait_until};

const STORED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A collector that takes everything.
fn collector() -> HttpServer {
    HttpServer::start(|_, _| "200 OK")
}

fn requests(collector: &HttpServer) -> Vec<ExportTraceServiceRequest> {
    let requests = collector.requests();
    let bodies = requests.iter().map(|request| {
        assert_eq!(request.line, "POST /v1/traces");
        assert_eq!(request.headers["content-type"], "application/x-protobuf");
        ExportTraceServiceRequest::decode(&request.body[..]).unwrap()
    });
    bodies.collect()
}

fn spans(collector: &HttpServer) -> Vec<Span> {
    let resources = requests(collector).into_iter().flat_map(|request| request.resource_spans);
    let scopes = resources.flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

/// Spans of this name, the earliest first.
fn named(collector: &HttpServer, name: &str) -> Vec<Span> {
    let mut spans: Vec<_> = spans(collector).into_iter().filter(|span| span.name == name).collect();
    spans.sort_by_key(|span| span.start_time_unix_nano);
    spans
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|one| one.key == key);
    let value = found.and_then(|one| one.value.clone()?.value);
    match value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{key}: {other:?} in {attributes:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What names this span to others.
fn traceparent(span: &Span) -> String {
    let sampled = span.flags & 1;
    format!("00-{}-{}-{sampled:02x}", hex(&span.trace_id), hex(&span.span_id))
}

fn links(span: &Span) -> Vec<String> {
    let link = |link: &opentelemetry_proto::tonic::trace::v1::span::Link| {
        format!("00-{}-{}-01", hex(&link.trace_id), hex(&link.span_id))
    };
    span.links.iter().map(link).collect()
}

fn enqueue(desk: &Desk, id: &str, header: &str) -> Said {
    let what = ["enqueue", id, "--to", "shipping", "--kind", "order.paid", "--body", "{}"];
    desk.run(&[&what[..], &["--store", "sqlite:orders.db", "--header", header]].concat())
}

fn relay(desk: &Desk, collector: u16, more: &[&str]) -> Command {
    let mut command = desk.command(&[&["relay", "--until-idle"], more].concat());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{collector}"));
    command
}

/// A port where nobody listens.
fn closed() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_retried_command_has_two_spans_which_link_to_its_stored_context_and_are_the_hops() {
    let desk = Desk::new();
    let receiver = HttpServer::start(|_, number| if number == 0 { "503 Busy" } else { "200 OK" });
    let collector = collector();
    desk.configure(receiver.port, "\"forever\"", "");
    enqueue(&desk, "A", &format!("ce-traceparent={STORED}")).is_done();
    let said = run(relay(&desk, collector.port, &["-v", "--log-format", "json"]));
    said.is_done();
    let (spans, hops) = (named(&collector, "deliver shipping"), receiver.requests());
    assert_eq!((spans.len(), hops.len()), (2, 2), "{said:?}");
    assert_ne!(spans[0].trace_id, spans[1].trace_id, "each is the root of its own trace");
    for (span, hop) in spans.iter().zip(&hops) {
        assert_eq!(links(span), [STORED]);
        assert!(span.parent_span_id.is_empty(), "{span:?}");
        assert_eq!(hop.headers["traceparent"], traceparent(span));
        assert_eq!(hop.headers["ce-traceparent"], STORED);
        assert_eq!(span.kind(), SpanKind::Client);
        assert!(span.end_time_unix_nano > span.start_time_unix_nano);
        for (key, value) in [
            ("messaging.system", "counterfoil"),
            ("messaging.operation.name", "deliver"),
            ("messaging.operation.type", "send"),
            ("messaging.destination.name", "shipping"),
            ("messaging.message.id", "A"),
            ("messaging.message.body.size", "2"),
            ("counterfoil.kind", "order.paid"),
            ("counterfoil.round", "1"),
            ("counterfoil.attempt", &hop.headers["counterfoil-attempt"]),
            ("counterfoil.token", &hop.headers["counterfoil-token"]),
        ] {
            assert_eq!(text(&span.attributes, key), value, "{key}");
        }
    }
    let status = spans[0].status.clone().unwrap();
    assert_eq!(status.code(), StatusCode::Error);
    assert!(status.message.contains("HTTP 503"), "{status:?}");
    assert_eq!(text(&spans[0].attributes, "counterfoil.outcome"), "unknown");
    assert_eq!(text(&spans[0].attributes, "error.type"), "unknown");
    assert_eq!(text(&spans[1].attributes, "counterfoil.outcome"), "completed");
    assert_eq!(spans[1].status.clone().unwrap_or_default().code(), StatusCode::Unset);
    let settles = named(&collector, "settle");
    let settled: Vec<_> = settles.iter().flat_map(links).collect();
    assert_eq!(settled, spans.iter().map(traceparent).collect::<Vec<_>>());
    // The log names the same spans.
    assert_eq!(said.out, "", "logs are on stderr");
    let lines = said.err.lines().map(serde_json::from_str::<serde_json::Value>);
    let lines: Vec<_> = lines.collect::<Result<_, _>>().unwrap();
    let settled: Vec<_> = lines.iter().filter(|line| line["message"] == "settled").collect();
    assert_eq!(settled.len(), 2, "{lines:?}");
    for (line, span) in settled.iter().zip(&spans) {
        assert_eq!(line["trace_id"], hex(&span.trace_id), "{line}");
        assert_eq!(line["span_id"], hex(&span.span_id), "{line}");
        assert_eq!((&line["command"], &line["destination"]), (&"A".into(), &"shipping".into()));
    }
}

#[test]
fn the_table_names_the_collector_and_a_variable_rules_over_it() {
    let desk = Desk::new();
    let (receiver, one, other) = (HttpServer::start(|_, _| "200 OK"), collector(), collector());
    let table = format!(
        "[telemetry]\nendpoint = \"http://127.0.0.1:{}/\"\nservice = \"shop-relay\"\n\
         headers = {{ Authorization = {{ env = \"COLLECTOR\" }}, X-Scope = \"7\" }}\n",
        one.port
    );
    desk.write("counterfoil.toml", &configuration(receiver.port, "\"forever\"", &table));
    enqueue(&desk, "A", "x-a=1").is_done();
    let mut command = desk.command(&["relay", "--until-idle"]);
    command.env("COLLECTOR", "Bearer geheim");
    let said = run(command);
    assert!(!said.is_done().err.contains("geheim"), "{said:?}");
    let request = one.requests().remove(0);
    assert_eq!(request.headers["authorization"], "Bearer geheim");
    assert_eq!(request.headers["x-scope"], "7");
    let resource = requests(&one).remove(0).resource_spans.remove(0).resource.unwrap();
    assert_eq!(text(&resource.attributes, "service.name"), "shop-relay");
    assert_eq!(text(&resource.attributes, "service.version"), env!("CARGO_PKG_VERSION"));
    assert!(!text(&resource.attributes, "service.instance.id").is_empty());
    assert_eq!(links(&named(&one, "deliver shipping")[0]), [] as [&str; 0], "nothing was stored");
    enqueue(&desk, "B", "x-a=1").is_done();
    let mut command = relay(&desk, other.port, &[]);
    command.env("COLLECTOR", "Bearer geheim").env("OTEL_SERVICE_NAME", "by-variable");
    run(command).is_done();
    let resource = requests(&other).remove(0).resource_spans.remove(0).resource.unwrap();
    assert_eq!(text(&resource.attributes, "service.name"), "by-variable");
    assert_eq!(named(&one, "deliver shipping").len(), 1, "the second went elsewhere");
}

#[test]
fn what_is_not_sampled_says_so_in_its_hop_and_is_not_sent() {
    let desk = Desk::new();
    let (receiver, collector) = (HttpServer::start(|_, _| "200 OK"), collector());
    desk.configure(receiver.port, "\"forever\"", "");
    desk.enqueue("A");
    let mut command = relay(&desk, collector.port, &[]);
    command.env("OTEL_TRACES_SAMPLER", "always_off");
    run(command).is_done();
    let hop = receiver.requests().remove(0);
    assert!(hop.headers["traceparent"].ends_with("-00"), "{hop:?}");
    assert_eq!(spans(&collector), []);
}

#[test]
fn without_an_endpoint_nothing_is_traced_and_the_stored_context_still_travels() {
    let desk = Desk::new();
    let receiver = HttpServer::start(|_, _| "200 OK");
    desk.configure(receiver.port, "\"forever\"", "");
    enqueue(&desk, "A", &format!("ce-traceparent={STORED}")).is_done();
    desk.run(&["relay", "--until-idle"]).is_done();
    let collector = collector();
    desk.enqueue("B");
    let mut off = relay(&desk, collector.port, &[]);
    off.env("OTEL_SDK_DISABLED", "true");
    run(off).is_done();
    let hops = receiver.requests();
    assert_eq!(hops[0].headers["ce-traceparent"], STORED);
    for hop in hops {
        assert!(!hop.headers.contains_key("traceparent"), "{hop:?}");
    }
    assert!(collector.requests().is_empty());
}

#[test]
fn a_question_is_a_span_and_its_request_carries_it() {
    let desk = Desk::new();
    let receiver =
        HttpServer::start(
            |request, _| {
                if request.line.starts_with("POST") { "500 Lost" } else { "200 OK" }
            },
        );
    let collector = collector();
    let ask = format!(
        "ask = {{ url = \"http://127.0.0.1:{}/commands/{{key}}\", quiet = \"2100ms\" }}",
        receiver.port
    );
    desk.configure(receiver.port, "false", &ask);
    desk.enqueue("A");
    run(relay(&desk, collector.port, &[])).is_done();
    let hops = receiver.requests();
    let asked = hops.iter().find(|hop| hop.line.starts_with("GET")).unwrap();
    let span = named(&collector, "ask shipping").remove(0);
    assert_eq!(asked.headers["traceparent"], traceparent(&span));
    assert_eq!(text(&span.attributes, "counterfoil.ask"), "1");
    assert_eq!(text(&span.attributes, "counterfoil.outcome"), "done");
    assert_eq!(span.status.unwrap_or_default().code(), StatusCode::Unset);
}

/// Nobody listens at its port; or somebody does, and never answers.
#[test]
fn a_collector_that_is_gone_or_hangs_costs_spans_and_no_delivery() {
    let hanging = HttpServer::start(|_, _| "");
    for collector in [closed(), hanging.port] {
        let desk = Desk::new();
        let receiver = HttpServer::start(|_, _| "200 OK");
        desk.configure(receiver.port, "\"forever\"", "");
        (0..40).for_each(|n| desk.enqueue(&format!("c-{n}")));
        let mut command = relay(&desk, collector, &["--log-format", "json"]);
        // Less room than spans: most are dropped where they end.
        command.env("OTEL_BSP_MAX_QUEUE_SIZE", "4").env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2");
        command.env("OTEL_BSP_SCHEDULE_DELAY", "1").env("OTEL_EXPORTER_OTLP_TIMEOUT", "300");
        let said = run(command);
        assert_eq!(receiver.requests().len(), 40, "{:?}", said.is_done());
        assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_delivery"), 0);
        let lines = said.err.lines().map(serde_json::from_str::<serde_json::Value>);
        let lines: Vec<_> = lines.collect::<Result<_, _>>().unwrap();
        let saying = |word: &str| {
            let is = |line: &&serde_json::Value| line["message"].as_str().unwrap().contains(word);
            lines.iter().filter(is).cloned().collect::<Vec<_>>()
        };
        assert_eq!(saying("the collector takes no spans").len(), 1, "once: {said:?}");
        let dropped = saying("spans were dropped");
        assert_eq!(dropped.len(), 1, "{said:?}");
        assert!(dropped[0]["dropped"].as_u64().unwrap() > 40, "settles have spans too: {said:?}");
    }
}

#[test]
fn a_collector_that_is_too_slow_is_said_once() {
    let desk = Desk::new();
    let receiver = HttpServer::start(|_, _| "200 OK");
    let collector = HttpServer::start(|_, _| {
        std::thread::sleep(Duration::from_millis(50));
        "200 OK"
    });
    desk.configure(receiver.port, "\"forever\"", "");
    (0..40).for_each(|n| desk.enqueue(&format!("c-{n}")));
    let mut command = relay(&desk, collector.port, &[]);
    command.env("OTEL_BSP_MAX_QUEUE_SIZE", "2").env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1");
    let said = run(command);
    assert_eq!(receiver.requests().len(), 40, "{:?}", said.is_done());
    for word in ["more spans end than the collector takes", "spans were dropped"] {
        assert_eq!(said.err.matches(word).count(), 1, "{word}: {said:?}");
    }
    assert!(!said.err.contains("takes no spans"), "{said:?}");
    assert!(!spans(&collector).is_empty());
}

#[test]
fn a_collector_that_comes_back_is_said_and_gets_the_spans_that_end_then() {
    let desk = Desk::new();
    let receiver = HttpServer::start(|_, _| "200 OK");
    let collector = HttpServer::start(|_, number| if number < 2 { "500 Broken" } else { "200 OK" });
    desk.configure(receiver.port, "\"forever\"", "");
    let mut command = desk.command(&["relay"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{}", collector.port));
    command.env("OTEL_BSP_SCHEDULE_DELAY", "20");
    let mut relay = Running::start(command);
    let mut sent = 0;
    wait_until("it took some", || {
        desk.enqueue(&format!("c-{sent}"));
        sent += 1;
        collector.requests().len() > 3
    });
    relay.hear("the collector takes no spans");
    relay.hear("the collector takes spans again");
    relay.signal("TERM");
    assert_eq!(relay.end(), Some(0));
    assert!(!named(&collector, "deliver shipping").is_empty());
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_sent() {
    let desk = Desk::new();
    let receiver = HttpServer::start(|_, _| "200 OK");
    desk.configure(receiver.port, "\"forever\"", "");
    let twice = enqueue(&desk, "A", &format!("traceparent={STORED}"));
    twice.refuses(1, &["\"traceparent\"", "ce-traceparent"]);
    desk.enqueue("A");
    let mut grpc = relay(&desk, closed(), &[]);
    grpc.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    run(grpc).refuses(2, &["OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"]);
    let mut no_url = desk.command(&["relay", "--until-idle"]);
    no_url.env("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318");
    run(no_url).refuses(2, &["OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"]);
    let table =
        "[telemetry]\nendpoint = \"http://127.0.0.1:4318\"\nheaders = { \"a b\" = \"c\" }\n";
    desk.configure(receiver.port, "\"forever\"", table);
    desk.run(&["relay", "--until-idle"]).refuses(2, &["telemetry.headers.a b"]);
    assert!(receiver.requests().is_empty());
}
