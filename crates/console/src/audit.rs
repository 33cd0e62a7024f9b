//! `GET /v1/audit`: the proof from the tables, over HTTP.
//!
//! Guarantees: the laws and the configured expectations are checked whole, by one audit at a time
//! and within `audit_timeout`; violations are an answer, not an error. Does not: match a receiver's
//! book; `counterfoil audit --inbox` does.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::Response;
use counterfoil_core::audit::{AuditOptions, AuditReport, audit, audit_archived};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Archive, Audited};
use tokio::time::timeout;

use crate::desk::{Desk, failed};
use crate::problem::Problem;
use crate::query::Query;
use crate::{answer, json};

/// Audits the store.
pub(crate) async fn run<S: Audited + Archive>(
    State(desk): State<Arc<Desk<S>>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Query::read(query.as_deref(), &[])?;
    let Ok(_turn) = desk.auditing.try_acquire() else { return Err(another_runs()) };
    let expect = desk.options.expect.iter().cloned();
    let options = expect.fold(AuditOptions::default(), AuditOptions::expect);
    match timeout(desk.options.audit_timeout, whole(&desk.store, options)).await {
        Ok(Ok(report)) => Ok(answer::done(&json::audit(&report))),
        Ok(Err(error)) => {
            tracing::error!(%error, "the store failed an audit of the API");
            Err(failed(&error))
        }
        Err(_) => Err(too_long()),
    }
}

async fn whole<S: Audited + Archive>(
    store: &S,
    options: AuditOptions,
) -> Result<AuditReport, StoreError> {
    let archived = audit_archived(store, &options).await?;
    Ok(audit(store, options).await?.and(archived))
}

fn another_runs() -> Problem {
    let detail = "one audit runs at a time, and another one does: ask again after Retry-After";
    let title = "another audit runs";
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "CF1028", title, detail).header(RETRY_AFTER, "5")
}

fn too_long() -> Problem {
    let detail = "the store is too large for an audit over HTTP, or too busy: run counterfoil \
                  audit, which takes as long as it needs";
    let title = "the audit took too long";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "CF1029", title, detail).header(RETRY_AFTER, "60")
}
