//! The HTTP API: receivers report what became of a command, people and programs look.
//!
//! Guarantees: nothing but health is answered to a caller without a known token, or, where no
//! tokens are set, to anybody but programs of the same machine; every refusal is a problem of RFC
//! 9457 with a stable code; every deed of an operator is recorded with the token's name. Does not:
//! terminate TLS.
//!
//! | request | role | answer |
//! |---|---|---|
//! | GET `/livez` | open | 200 |
//! | GET `/readyz` | open | 200 if the store answers in time, else 503 |
//! | POST `/v1/receipts` | receipt, operator | 200 recorded or repeated, 404, 409, 422 |
//! | GET `/v1/status` | read, operator | counts by destination and state |
//! | GET `/v1/commands` | read, operator | commands by filter, page by page |
//! | GET `/v1/commands/{id}` | read, operator | the command's story, or 404 |
//! | POST `/v1/commands/{id}/` retry, resolve, cancel, redeliver | operator | 200, 404, 409 |
//! | POST `/v1/destinations/{name}/pause`, `resume` | operator | 200, 404 |
//! | GET `/v1/workflows` | read, operator | workflows by filter, page by page |
//! | GET `/v1/workflows/{stream}` | read, operator | the workflow's story, or 404 |
//! | POST `/v1/workflows/{stream}/` start, signal, cancel, retry | operator | 200, 404, 409, 422 |
//! | GET `/v1/audit` | read, operator | whether every law holds |
//! | GET `/metrics` | read, operator | what Prometheus reads |
//! | GET `/openapi.json` | any | this, for programs |
//!
//! `docs/api.md` says more, with examples.
//!
//! # Example
//!
//! ```no_run
//! use counterfoil_console::{Api, ApiOptions, Role, Token};
//! # use counterfoil_core::port::{Archive, Audited, Workflows};
//! # async fn serve(
//! #     store: impl Audited + Archive + Workflows, secret: &str,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! let mut options = ApiOptions::default();
//! options.tokens.push(Token::new("shipping", Role::Receipt, secret)?);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7070").await?;
//! let stop = async { tokio::signal::ctrl_c().await.unwrap_or(()) };
//! Api::new(store, options)?.serve(listener, stop).await?;
//! # Ok(()) }
//! ```

mod acting;
mod answer;
mod api;
mod audit;
mod board;
mod body;
mod by_hand;
mod caller;
mod commands;
mod connection;
mod desk;
mod destination;
mod error;
mod health;
pub mod json;
mod look;
mod members;
mod metrics;
mod openapi;
mod options;
mod origin;
mod problem;
mod query;
mod receipt;
mod refusal;
mod report;
mod route;
mod stream;
mod told;
mod workflow;

pub use api::Api;
pub use board::{Board, Standing};
pub use caller::{Role, Token};
pub use error::ApiError;
pub use metrics::Counters;
pub use options::ApiOptions;
pub use told::{EVENT_BYTES_MAX, Part, SHOWN, StuckUndo, WorkflowTold, told};
