//! Takes a request's body: JSON, whole, in time, and not too long.
//!
//! Guarantees: a length that is told beforehand is judged before a byte is read; the bytes are
//! taken as they came. Does not: parse them.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use crate::desk::Desk;
use crate::problem::Problem;

const JSON: &str = "application/json";
/// What a request costs beside its body, in KiB.
const REQUEST_KIB: usize = 4;

/// A body, and the room that it takes while it is held.
pub(crate) struct Taken<'a> {
    pub(crate) bytes: Vec<u8>,
    _room: SemaphorePermit<'a>,
}

/// Takes the body of `request`.
pub(crate) async fn take<S>(desk: &Desk<S>, request: Request) -> Result<Taken<'_>, Problem> {
    check_media_type(request.headers())?;
    let body = request.into_body();
    let (max, within) = (desk.options.body_bytes_max, desk.options.read_timeout);
    if body.size_hint().lower() > max as u64 {
        return Err(too_long(max));
    }
    let len = body.size_hint().exact().map_or(max, |len| usize::try_from(len).unwrap_or(max));
    let kib = u32::try_from(len / 1024 + REQUEST_KIB).unwrap_or(u32::MAX);
    let room = timeout(within, desk.room.acquire_many(kib)).await;
    let room = room.ok().and_then(Result::ok).ok_or_else(overloaded)?;
    let bytes = read(body, max, within).await?;
    Ok(Taken { bytes, _room: room })
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let told = match (types.next(), types.next()) {
        (Some(value), None) => value.to_str().unwrap_or_default(),
        _ => "",
    };
    let essence = told.split(';').next().unwrap_or_default().trim();
    let plain = headers.get_all(CONTENT_ENCODING).iter().all(|coding| coding == "identity");
    if essence.eq_ignore_ascii_case(JSON) && plain {
        return Ok(());
    }
    let detail = "send JSON with Content-Type: application/json, without Content-Encoding";
    let title = "the body is of another media type";
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    Err(Problem::new(status, "CF1007", title, detail).header(ACCEPT, JSON))
}

async fn read(body: Body, max: usize, within: Duration) -> Result<Vec<u8>, Problem> {
    match timeout(within, Limited::new(body, max).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long(max)),
        Ok(Err(_)) => {
            let detail = "the body broke off, or its framing is no HTTP: send it again whole";
            Err(Problem::new(StatusCode::BAD_REQUEST, "CF1009", "the body broke off", detail))
        }
        Err(_) => {
            let detail = format!("the body did not come within {} ms", within.as_millis());
            let title = "the body came too slowly";
            let status = StatusCode::REQUEST_TIMEOUT;
            Err(Problem::new(status, "CF1008", title, detail).header(CONNECTION, "close"))
        }
    }
}

fn too_long(max: usize) -> Problem {
    let detail = format!("at most {max} bytes are taken: store the result and report a reference");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "CF1006", "the body is too long", detail)
}

fn overloaded() -> Problem {
    let detail = "more is being reported than this API can hold; nothing was done: send the same \
                  again later";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    Problem::new(status, "CF1016", "too many requests", detail).header(RETRY_AFTER, "1")
}
