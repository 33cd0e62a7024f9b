//! When a long-running verb ends: SIGTERM, SIGINT, or the end of standard input.
//!
//! Guarantees: the first asks for a clean end; a second signal, later than [`ONE_WISH`], ends the
//! process at once. Does not: bound how long a clean end takes; the verb's drain does.

use std::io::Read;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::exit::Failure;

/// Signals that come so close are one wish: `timeout` and some supervisors signal a process and
/// then its whole group, and what was in flight would be left in doubt.
const ONE_WISH: Duration = Duration::from_millis(500);

/// Listens from now on; the future ends when the verb should.
///
/// # Errors
/// The system refuses to hand signals over.
pub(crate) fn listen(with_stdin: bool) -> Result<impl Future<Output = ()> + Send, Failure> {
    let refused =
        |error| Failure::could_not_run(format!("signals cannot be listened for: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(refused)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(refused)?;
    let (asked, mut wait) = watch::channel(false);
    if with_stdin {
        let asked = asked.clone();
        // A thread of its own: a blocking read cannot be cancelled, and must not hold the end up.
        std::thread::spawn(move || {
            let mut byte = [0; 64];
            while matches!(std::io::stdin().read(&mut byte), Ok(1..)) {}
            tracing::info!("standard input ended: ending");
            asked.send_replace(true);
        });
    }
    tokio::spawn(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!("{name}: ending; a second one ends at once");
        asked.send_replace(true);
        let first = Instant::now();
        while first.elapsed() < ONE_WISH {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        tracing::warn!("a second signal: ending at once; leases run out by themselves");
        std::process::exit(2);
    });
    Ok(async move {
        // The sender lives as long as the task above.
        let _ = wait.wait_for(|asked| *asked).await;
    })
}
