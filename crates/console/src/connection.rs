//! Connections of the API: accepted, timed, and ended.
//!
//! Guarantees: they are bounded, and so is how long one may take for a request's head, stay idle,
//! or leave its answer unread; a stop ends idle ones at once and waits for the others no longer
//! than `drain`. Does not: speak HTTP/2.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::options::ApiOptions;
use crate::stream::Stream;

/// Pause after the system refused a connection, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How much of a connection's input is held: a request's head must fit.
const BUFFER_BYTES: usize = 64 * 1024;

/// Serves until `stop`, then drains.
pub(crate) async fn accept(
    router: Router,
    options: &ApiOptions,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send,
) {
    let places = Arc::new(Semaphore::new(options.connections_max));
    let (stopping, stopped) = watch::channel(());
    let mut open = JoinSet::new();
    tokio::pin!(stop);
    loop {
        let next = async { (Arc::clone(&places).acquire_owned().await, listener.accept().await) };
        tokio::select! {
            () = &mut stop => break,
            Some(_) = open.join_next() => {}
            (place, accepted) = next => match accepted {
                Ok((stream, _)) => {
                    let stream = Stream::new(stream, options.write_timeout);
                    let (router, stopped) = (router.clone(), stopped.clone());
                    let served = serve(router, stream, options.read_timeout, stopped);
                    open.spawn(async move {
                        let _place = place;
                        served.await;
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    // Nobody is to connect to what ends, and each connection hears that the sender is gone.
    drop((listener, stopping));
    let ended = async { while open.join_next().await.is_some() {} };
    if timeout(options.drain, ended).await.is_err() {
        tracing::warn!(left = open.len(), "connections were cut at the end of the drain");
    }
    open.shutdown().await;
}

async fn serve(
    router: Router,
    stream: Stream,
    read_timeout: Duration,
    mut stopped: watch::Receiver<()>,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(read_timeout)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(stream, TowerToHyperService::new(router));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}
