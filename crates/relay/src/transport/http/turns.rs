//! A stream whose reader gives its thread back now and then.
//!
//! Guarantees: after a few reads in a row that had something, one says "not yet" and wakes its
//! reader again, so that a receiver that sends without end (interim answers, above all, which are
//! read and thrown away) holds up no other attempt, no timer and no lease. Does not: limit how much
//! is read; the request timeout ends it.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};

/// How many reads in a row may have something.
const READS_MAX: u8 = 2;

/// The stream.
pub(super) struct Turns<T> {
    inner: T,
    reads: u8,
}

impl<T> Turns<T> {
    pub(super) const fn new(inner: T) -> Self {
        Self { inner, reads: 0 }
    }
}

impl<T: Read + Unpin> Read for Turns<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        if self.reads >= READS_MAX {
            self.reads = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = std::mem::take(&mut self.reads);
        let read = ready!(Pin::new(&mut self.inner).poll_read(cx, buf));
        self.reads = before + 1;
        Poll::Ready(read)
    }
}

impl<T: Write + Unpin> Write for Turns<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use hyper::rt::ReadBuf;
    use hyper_util::rt::TokioIo;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_sends_without_end_gives_others_their_turn_and_is_read_on() {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut cx = Context::from_waker(&waker);
        let mut endless = Turns::new(TokioIo::new(tokio::io::repeat(b'x')));
        for turn in 1..=3 {
            for _ in 0..READS_MAX {
                let mut bytes = [0; 16];
                let mut buf = ReadBuf::new(&mut bytes);
                let read = Pin::new(&mut endless).poll_read(&mut cx, buf.unfilled());
                assert!(matches!(read, Poll::Ready(Ok(()))));
                assert_eq!(buf.filled(), [b'x'; 16]);
            }
            let mut bytes = [0; 16];
            let read =
                Pin::new(&mut endless).poll_read(&mut cx, ReadBuf::new(&mut bytes).unfilled());
            assert!(read.is_pending(), "turn {turn}");
            assert_eq!(woken.0.load(Ordering::Relaxed), turn, "it is looked at again");
        }
    }
}
