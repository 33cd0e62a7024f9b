//! A server for tests that keeps what it was sent: a receiver, or a collector of traces.
//!
//! Guarantees: requests are kept in the order of their arrival, with their bodies. Does not: speak
//! more of HTTP/1.1 than a length and connections that are kept.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// Method and path.
    pub(crate) line: String,
    /// By names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// What to answer: a status and its words; an empty one: nothing, ever.
type Answer = dyn Fn(&Request, usize) -> &'static str + Send + Sync;

/// A server at work.
#[derive(Clone)]
pub(crate) struct HttpServer {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl HttpServer {
    /// Answers each request, the first of which is number 0, as `answer` says.
    pub(crate) fn start(
        answer: impl Fn(&Request, usize) -> &'static str + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, requests: Arc::default() };
        let (own, answer) = (server.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (own, answer) = (own.clone(), Arc::clone(&answer));
                std::thread::spawn(move || own.serve(&stream, &*answer));
            }
        });
        server
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    fn serve(&self, stream: &TcpStream, answer: &Answer) {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read(&mut reader) {
            let number = {
                let mut requests = self.requests.lock().unwrap();
                requests.push(request.clone());
                requests.len() - 1
            };
            let status = answer(&request, number);
            if status.is_empty() {
                std::thread::park();
            }
            let said = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            let mut stream = stream;
            if stream.write_all(said.as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut request = Request::default();
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let (head, _) = line.trim_end().rsplit_once(' ')?;
    request.line = head.to_owned();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = request.headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}
