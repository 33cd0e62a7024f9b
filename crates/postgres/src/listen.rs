//! Hears of other processes' commits by LISTEN, on a connection of its own.
//!
//! Guarantees: it begins where somebody waits, so a process that only writes has no such
//! connection; one that ends, or says nothing to its own probe, is replaced, with longer and longer
//! pauses; after each LISTEN one looks, since what was told before was not heard; and one looks
//! again a moment after the last news, from the beginning. Does not: stand in for polling, which
//! stays the truth.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::{AsyncMessage, Client, Connection, Socket};

use crate::failure::words;
use crate::floors::FLOOR_LASTS;
use crate::pool::{self, Settings};
use crate::url::Target;
use crate::wake::Wake;

/// The first pause before another connection is tried; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// What a listener tells itself; nobody looks for it.
const PROBE: &str = "probe";
/// How long after the last news one looks again. What was committed late may be due before the
/// place where a claim begins to look now; by then the next one looks from the beginning.
const LOOK_AGAIN: Duration = Duration::from_micros(FLOOR_LASTS.unsigned_abs());

/// A task that ends when this is dropped.
struct Listener(JoinHandle<()>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What hears of others as soon as somebody waits.
pub(crate) struct Ear {
    listening: Listening,
    begun: OnceLock<Listener>,
}

impl Ear {
    /// An ear that does not listen yet.
    pub(crate) fn new(target: &Target, settings: &Settings, wake: Arc<Wake>) -> Self {
        let mut target = target.clone();
        pool::prepare(&mut target.config, &settings.options);
        target.config.application_name("counterfoil listener");
        let name = format!("\"{}\"", settings.channel.replace('"', "\"\""));
        let (own, heartbeat) = (settings.name.clone(), settings.options.heartbeat);
        let listening = Listening { target, name, own, wake, heartbeat };
        Self { listening, begun: OnceLock::new() }
    }

    /// Begins to listen, and to wake who waits, unless it does already.
    pub(crate) fn listen(&self) {
        self.begun.get_or_init(|| {
            let listening = self.listening.clone();
            Listener(tokio::spawn(async move { listening.run().await }))
        });
    }
}

#[derive(Clone)]
struct Listening {
    target: Target,
    /// The channel, quoted.
    name: String,
    /// What our own commits say, which have woken who waits already.
    own: String,
    wake: Arc<Wake>,
    heartbeat: Duration,
}

impl Listening {
    async fn run(self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let mut has_heard = false;
            let Err(why) = self.once(&mut has_heard).await;
            if has_heard {
                pause = FIRST_PAUSE;
            }
            tracing::warn!(%why, retry_in = ?pause, "the connection that listens is replaced");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// One connection, until it fails.
    async fn once(&self, has_heard: &mut bool) -> Result<Infallible, String> {
        let connecting = self.target.config.connect(self.target.tls.clone());
        let (client, connection) = self.within(connecting).await?;
        let (tell, mut hear) = unbounded_channel();
        // Dropped with this function: a connection that is half open is not waited for.
        let _reading = Listener(tokio::spawn(forward(connection, tell)));
        self.within(client.batch_execute(&format!("LISTEN {}", self.name))).await?;
        *has_heard = true;
        self.wake.wake();
        // Also what was told before it listened.
        let mut again = Some(Instant::now() + LOOK_AGAIN);
        loop {
            let silent_at = Instant::now() + self.heartbeat;
            let until = again.map_or(silent_at, |again| again.min(silent_at));
            match timeout_at(until, hear.recv()).await {
                Ok(Some(payload)) => again = self.heard(&payload).or(again),
                Ok(None) => return Err("it has ended".into()),
                Err(_) if again == Some(until) => {
                    again = None;
                    self.wake.wake();
                }
                Err(_) => again = self.probe(&client, &mut hear).await?.or(again),
            }
        }
    }

    /// Tells itself something, and waits until it hears that, or anything; when to look again.
    async fn probe(
        &self,
        client: &Client,
        hear: &mut UnboundedReceiver<String>,
    ) -> Result<Option<Instant>, String> {
        let notify = format!("NOTIFY {}, '{PROBE}'", self.name);
        self.within(client.batch_execute(&notify)).await?;
        match timeout(self.heartbeat, hear.recv()).await {
            Ok(Some(payload)) => Ok(self.heard(&payload)),
            Ok(None) => Err("it has ended".into()),
            Err(_) => Err("it did not hear its own probe".into()),
        }
    }

    /// Wakes who waits, if it is news; when to look again.
    fn heard(&self, payload: &str) -> Option<Instant> {
        if payload == PROBE || payload == self.own {
            return None;
        }
        self.wake.wake();
        Some(Instant::now() + LOOK_AGAIN)
    }

    async fn within<T>(
        &self,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, String> {
        match timeout(self.heartbeat, asked).await {
            Ok(answer) => answer.map_err(|error| words(&error)),
            Err(_) => Err(format!("no answer within {:?}", self.heartbeat)),
        }
    }
}

/// Reads what the server says, and hands on what was told by NOTIFY.
async fn forward<T>(mut connection: Connection<Socket, T>, tell: UnboundedSender<String>)
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(told) = message
            && tell.send(told.payload().to_owned()).is_err()
        {
            return;
        }
    }
}
