//! What a line does with a request that comes back.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;

use super::*;

/// Accepts connections and answers one request on each; tells of each request that came.
fn receiver() -> (String, mpsc::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4096];
            while stream.read(&mut bytes).is_ok_and(|length| length > 0) {
                tell.send(number).unwrap();
                stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
            }
        }
    });
    (url, told)
}

fn line(url: &str) -> Line {
    let url = Url::new("url", url).unwrap();
    Line::new(&url, &Route::Direct, &HttpOptions::new("unused")).unwrap()
}

fn request() -> Sent {
    let mut request = Request::new(Full::new(Bytes::from_static(b"{}")));
    *request.method_mut() = hyper::Method::POST;
    request
}

/// The one case in which a second connection is tried after the gate.
#[tokio::test]
async fn a_request_that_came_back_unwritten_is_sent_once_on_a_new_connection() {
    let (url, told) = receiver();
    let line = line(&url);
    let deadline = Instant::now() + std::time::Duration::from_secs(10);
    let connection = line.connection(deadline, true).await.unwrap();
    connection.end().await;
    let sent = line.send(connection, request(), deadline).await;
    let (_connection, response) = sent.unwrap();
    assert_eq!(response.status(), 204);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [1], "on the second connection, once");
}

#[tokio::test]
async fn a_request_that_came_back_unwritten_is_not_sent_where_nobody_listens_any_more() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let line = line(&url);
    let deadline = Instant::now() + std::time::Duration::from_secs(10);
    let connection = line.connection(deadline, true).await.unwrap();
    drop(listener);
    connection.end().await;
    let Err(Failed::NotSent(reason)) = line.send(connection, request(), deadline).await else {
        panic!("it was sent, or it may have been");
    };
    assert!(reason.contains("refused"), "{reason}");
}
