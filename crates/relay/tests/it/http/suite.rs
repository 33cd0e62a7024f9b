//! The HTTP transport under the suite that every transport must pass.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use counterfoil_core::domain::Span;
use counterfoil_core::port::{BoxFuture, Transport};
use counterfoil_relay::transport::http::HttpTransport;
use counterfoil_testkit::exercise_transport::{Arrival, FarEnd, Reply};
use tokio::sync::watch;

use super::receiver::{Peer, Receiver, answer, percent_decoded};

/// A receiver on a socket; its connections close when it vanishes.
struct HttpFarEnd {
    receiver: Receiver,
    transport: Arc<HttpTransport>,
    reply: Arc<Mutex<Reply>>,
    gone: watch::Sender<bool>,
}

async fn make() -> HttpFarEnd {
    let reply = Arc::new(Mutex::new(Reply::Done(Vec::new())));
    let (gone, _) = watch::channel(false);
    let (replies, leaves) = (Arc::clone(&reply), gone.clone());
    let receiver = Receiver::start(move |peer| {
        let (replies, mut leave) = (Arc::clone(&replies), leaves.subscribe());
        async move {
            tokio::select! {
                () = serve(peer, &replies) => {}
                _ = leave.wait_for(|gone| *gone) => {}
            }
        }
    })
    .await;
    let mut options = receiver.options();
    options.request_timeout = Span::from_millis(500);
    let transport = Arc::new(HttpTransport::new(options).unwrap());
    HttpFarEnd { receiver, transport, reply, gone }
}

async fn serve(mut peer: Peer, replies: &Mutex<Reply>) {
    while peer.request().await.is_some() {
        let reply = replies.lock().unwrap().clone();
        match reply {
            Reply::Done(result) => {
                let result = String::from_utf8(result).unwrap();
                peer.write(answer("200 OK", "", &result)).await;
            }
            Reply::Fail => peer.write(answer("500 Internal Server Error", "", "")).await,
            Reply::Hang => std::future::pending().await,
        }
    }
}

impl FarEnd for HttpFarEnd {
    fn transport(&self) -> Arc<dyn Transport> {
        Arc::<HttpTransport>::clone(&self.transport)
    }

    fn reply(&self, reply: Reply) {
        *self.reply.lock().unwrap() = reply;
    }

    fn arrivals(&self) -> Vec<Arrival> {
        let requests = self.receiver.requests().into_iter();
        requests
            .map(|request| Arrival {
                command_id: percent_decoded(request.header("idempotency-key").trim_matches('"')),
                body: request.body,
            })
            .collect()
    }

    fn vanish(&self) -> BoxFuture<'_, bool> {
        self.receiver.close();
        self.gone.send_replace(true);
        Box::pin(async {
            // Until nothing listens there, and a moment for the closes to arrive.
            while tokio::net::TcpStream::connect(self.receiver.address).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            true
        })
    }
}

counterfoil_testkit::transport_suite!(make);
