//! Connections of the reference receiver: accepted, timed, and ended.
//!
//! Guarantees: connections are bounded, and so is the time that one may take for a request's head
//! or stay idle; a stop lets requests be answered, but no longer than `drain`. Does not: speak
//! HTTP/2.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::request::Desk;

/// Pause after the system refused a connection, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts until `stop`, or until nobody writes any more, then waits for what is being answered,
/// at most `drain`.
pub(super) async fn accept(
    desk: &Arc<Desk>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send,
) {
    let places = Arc::new(Semaphore::new(desk.options().connections_max));
    let (stopping, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            () = &mut stop => break,
            () = desk.writer_ended() => break,
            Some(_) = connections.join_next() => {}
            (place, accepted) = next => match accepted {
                Ok((stream, _)) => {
                    let (desk, stopped) = (Arc::clone(desk), stopped.clone());
                    connections.spawn(async move {
                        let _place = place;
                        serve(desk, stream, stopped).await;
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    let _ = stopping.send(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(desk.options().drain, drained).await.is_err() {
        tracing::warn!(left = connections.len(), "connections were cut at the end of the drain");
    }
    connections.shutdown().await;
}

async fn serve(desk: Arc<Desk>, stream: TcpStream, mut stopped: watch::Receiver<bool>) {
    // An answer is small and must not wait for more to come.
    let _ = stream.set_nodelay(true);
    let read_timeout = desk.options().read_timeout;
    let answer = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(desk.answer(request.map(Body::new)).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(read_timeout)
        .serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    let told = async {
        // The guard of the value must not live on; an error means that the receiver is gone.
        let _ = stopped.wait_for(|stopped| *stopped).await.map(drop);
    };
    let mut ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = told => None,
    };
    if ended.is_none() {
        connection.as_mut().graceful_shutdown();
        ended = Some(connection.await);
    }
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}
