//! Warnings, caught where a test looks for them.

use std::future::Future;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Caught(Arc<Mutex<Vec<u8>>>);

impl Write for Caught {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Caught {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// What was logged on this thread while `work` ran, and what it came to.
pub(crate) async fn warnings_of<T>(work: impl Future<Output = T>) -> (String, T) {
    let caught = Caught::default();
    let subscriber =
        tracing_subscriber::fmt().with_ansi(false).with_writer(caught.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let done = work.await;
    drop(guard);
    let bytes = caught.0.lock().unwrap().clone();
    (String::from_utf8(bytes).unwrap(), done)
}
