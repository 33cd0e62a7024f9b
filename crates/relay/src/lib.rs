//! The relay of Counterfoil: claims commands, sends them to their destinations, settles.
//!
//! Guarantees: a command is sent only under a lease that is durable before its first byte leaves;
//! how an attempt ended is settled under its token; what is unknown is never called a failure.
//! Does not: know any concrete store; it is generic over the `Store` port.

mod attempts;
mod backoff;
mod board;
mod claimer;
mod control;
mod destination;
mod driver;
mod error;
mod exchange;
mod health;
mod limits;
mod look;
mod notice;
mod observer;
mod options;
#[cfg(feature = "otel")]
mod otel;
mod pausing;
mod reason;
mod relay;
mod sender;
mod serving;
mod settler;
mod stop;
mod sweeper;
mod trace;
pub mod transport;
mod unserved;

pub use board::{Board, BreakerStatus, Standing};
pub use error::RelayError;
pub use limits::Limits;
pub use observer::TracingObserver;
pub use options::{MARGIN, Options, WORKERS, WORKERS_IN_PROCESS, WORKERS_MAX};
#[cfg(feature = "otel")]
pub use otel::OtelTracer;
pub use relay::{Relay, RelayEnd};
pub use serving::Served;
pub use trace::{Hop, HopSpan, SettledBatch, Tracer};
