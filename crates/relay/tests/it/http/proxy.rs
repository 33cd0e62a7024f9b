//! Through a real proxy that forwards, tunnels, asks for a password, and refuses.

use std::sync::{Arc, Mutex};

use counterfoil_core::domain::Outcome;
use counterfoil_core::port::Transport as _;
use counterfoil_relay::transport::http::{HttpOptions, HttpTransport, Proxy};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use super::receiver::{Receiver, answer, ask, attempt, send};
use super::tls_server::{TlsServer, certificate};

/// By Python's base64, of `shop:ge heim`.
const AUTHORIZATION: &str = "Basic c2hvcDpnZSBoZWlt";

/// A proxy that keeps the head of each request it was given.
struct ProxyServer {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl ProxyServer {
    /// Answers `refusal` to everything, where there is one.
    async fn start(refusal: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = listener.local_addr().unwrap().to_string();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, refusal, Arc::clone(&seen)));
            }
        });
        Self { url, heads }
    }

    fn proxy(&self) -> Proxy {
        Proxy::Url(format!("http://shop:ge%20heim@{}", self.url))
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// One connection, to one host.
async fn serve(
    mut client: TcpStream,
    refusal: Option<&'static str>,
    heads: Arc<Mutex<Vec<String>>>,
) {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if client.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    heads.lock().unwrap().push(head.clone());
    let mut line = head.split(' ');
    let (method, target) = (line.next().unwrap(), line.next().unwrap());
    if let Some(refusal) = refusal {
        client.write_all(refusal.as_bytes()).await.unwrap();
        return;
    }
    if method == "CONNECT" {
        let mut server = TcpStream::connect(target).await.unwrap();
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
        let _ = copy_bidirectional(&mut client, &mut server).await;
        return;
    }
    let after = target.strip_prefix("http://").expect("absolute-form");
    let (host, path) = after.split_once('/').unwrap();
    let mut server = TcpStream::connect(host).await.unwrap();
    let forwarded = head.replacen(target, &format!("/{path}"), 1);
    server.write_all(forwarded.as_bytes()).await.unwrap();
    server.write_all(&bytes[end..]).await.unwrap();
    let _ = copy_bidirectional(&mut client, &mut server).await;
}

#[tokio::test]
async fn http_is_forwarded_with_the_whole_url_and_the_proxys_password() {
    let receiver = Receiver::answering(answer("200 OK", "", "{}")).await;
    let proxy = ProxyServer::start(None).await;
    let mut options = receiver.askable();
    options.proxy = proxy.proxy();
    let transport = HttpTransport::new(options).unwrap();
    for id in ["a", "b"] {
        assert_eq!(send(&transport, id).await.name(), "completed");
    }
    assert_eq!(ask(&transport, "a/b").await.name(), "done");
    let heads = proxy.heads();
    let there = receiver.address;
    assert!(heads[0].starts_with(&format!("POST http://{there}/commands HTTP/1.1\r\n")));
    let asked = format!("GET http://{there}/commands/a%2Fb HTTP/1.1\r\n");
    assert!(heads[1].starts_with(&asked), "{heads:?}");
    for head in &heads {
        assert!(head.contains(&format!("proxy-authorization: {AUTHORIZATION}\r\n")), "{head}");
    }
    let requests = receiver.requests();
    assert_eq!((requests.len(), heads.len()), (3, 2), "a connection is used again");
    assert_eq!(requests[0].header("host"), there.to_string());
    assert_eq!(requests[1].line, format!("POST http://{there}/commands HTTP/1.1"));
}

#[tokio::test]
async fn https_goes_through_a_tunnel_and_the_password_stays_with_the_proxy() {
    let server = TlsServer::for_clients_of("clients.pem", tokio_rustls::rustls::ALL_VERSIONS).await;
    let proxy = ProxyServer::start(None).await;
    let mut options = HttpOptions::new(server.url());
    options.tls.ca = Some(certificate("ca.pem"));
    options.tls.cert = Some(certificate("client.pem"));
    options.tls.key = Some(certificate("client.key"));
    options.proxy = proxy.proxy();
    let outcome = send(&HttpTransport::new(options).unwrap(), "a").await;
    assert_eq!(outcome.name(), "completed", "{outcome:?}");
    let head = proxy.heads().remove(0);
    assert!(head.starts_with(&format!("CONNECT localhost:{} HTTP/1.1\r\n", server.port)));
    assert!(head.contains(AUTHORIZATION) && !head.contains("order"), "{head}");
    assert_eq!((proxy.heads().len(), server.requests()), (1, 1));
}

#[tokio::test]
async fn a_proxy_that_gives_no_tunnel_leaves_the_command_unsent() {
    for refusal in [
        "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
        "",
    ] {
        let proxy = ProxyServer::start(Some(refusal)).await;
        let mut options = HttpOptions::new("https://localhost:9/");
        options.tls.ca = Some(certificate("ca.pem"));
        options.proxy = proxy.proxy();
        let attempt = attempt("a");
        let outcome = HttpTransport::new(options).unwrap().send(&attempt).await;
        let is_plain = matches!(outcome, Outcome::NotSent { misconfigured: false, .. });
        assert!(is_plain && !attempt.gate.has_begun(), "{outcome:?}");
        let said = outcome.reason();
        assert!(said.contains("localhost:9 through the proxy 127.0.0.1:"), "{said}");
        assert!(!said.contains("geheim"), "{said}");
    }
}

#[tokio::test]
async fn a_forwarding_proxys_own_answer_is_read_by_the_table() {
    for (refusal, expected) in [
        ("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "not_sent"),
        ("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "unknown"),
        ("HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n", "unknown"),
        ("", "unknown"),
    ] {
        let proxy = ProxyServer::start(Some(refusal)).await;
        let mut options = HttpOptions::new("http://localhost:9/");
        options.proxy = proxy.proxy();
        let outcome = send(&HttpTransport::new(options).unwrap(), "a").await;
        assert_eq!(outcome.name(), expected, "{outcome:?}");
        assert_eq!(proxy.heads().len(), 1, "one send is one send");
    }
}

#[tokio::test]
async fn where_no_proxy_listens_nothing_is_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let receiver = Receiver::answering(answer("200 OK", "", "")).await;
    let mut options = receiver.options();
    options.proxy = Proxy::Url(proxy);
    let attempt = attempt("a");
    let outcome = HttpTransport::new(options).unwrap().send(&attempt).await;
    assert_eq!(outcome.name(), "not_sent", "{outcome:?}");
    assert!(!attempt.gate.has_begun() && receiver.connections() == 0);
}

#[test]
fn a_proxy_that_cannot_be_used_is_refused_without_its_password() {
    for bad in ["socks5://shop:geheim@h:1080", "https://shop:geheim@h", "ftp://h", "a b"] {
        let mut options = HttpOptions::new("http://h/");
        options.proxy = Proxy::Url(bad.into());
        let text = format!("{options:?}");
        let refused = HttpTransport::new(options).unwrap_err();
        assert_eq!(refused.code(), "CF0610", "{bad}");
        assert!(!format!("{refused} {text}").contains("geheim"), "{refused} {text}");
    }
}

const URL: &str = "COUNTERFOIL_TEST_PROXIED_URL";
const CHOICE: &str = "COUNTERFOIL_TEST_PROXY";

/// The other process of the test below; without its variable it has nothing to do.
#[tokio::test]
async fn as_a_process_of_its_own() {
    let Ok(url) = std::env::var(URL) else { return };
    let mut options = HttpOptions::new(url);
    if std::env::var(CHOICE).is_ok() {
        options.proxy = Proxy::Env;
    }
    println!("outcome: {:?}", send(&HttpTransport::new(options).unwrap(), "a").await);
}

#[tokio::test]
async fn the_environment_is_read_where_it_is_asked_for_and_only_there() {
    for (choice, variable, except, through) in [
        (true, "http_proxy", "", 1),
        (true, "HTTP_PROXY", "example.org", 1),
        (true, "ALL_PROXY", "", 1),
        (true, "http_proxy", "localhost", 0),
        (true, "https_proxy", "", 0),
        (false, "http_proxy", "", 0),
    ] {
        let receiver = Receiver::answering(answer("200 OK", "", "")).await;
        let proxy = ProxyServer::start(None).await;
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "http::proxy::as_a_process_of_its_own", "--nocapture"]);
        for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
            child.env_remove(name).env_remove(name.to_uppercase());
        }
        child.env_remove(CHOICE).env(URL, format!("http://localhost:{}/", receiver.address.port()));
        child.env(variable, &proxy.url).env("NO_PROXY", except);
        if choice {
            child.env(CHOICE, "env");
        }
        let said = String::from_utf8(child.output().await.unwrap().stdout).unwrap();
        assert!(said.contains("outcome: Completed"), "{said}");
        assert_eq!(proxy.heads().len(), through, "{choice} {variable} {except}");
        assert_eq!(receiver.requests().len(), 1);
    }
}
