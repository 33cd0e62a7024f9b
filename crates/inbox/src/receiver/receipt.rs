//! The receipt that a receiver reports for one command.
//!
//! Guarantees: a result that is JSON stands in it byte for byte, any other as a string. Does not:
//! say anything that is not committed beside the key.

use axum::http::Uri;
use counterfoil_core::domain::CommandId;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::http::Reply;

/// What the receiver goes by; the same for a first receipt and for its repeat.
const EVIDENCE: &str = "stored by the receiver in one transaction with the effect";

/// A receipt on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    /// Where to.
    pub(super) to: Uri,
    /// Of which command.
    pub(super) command_id: CommandId,
    is_refusal: bool,
    result: Vec<u8>,
}

impl Receipt {
    /// The receipt of a reply, if the reply is an outcome.
    pub(super) fn of(reply: &Reply, command_id: &CommandId, to: &Uri) -> Option<Self> {
        let (is_refusal, result) = match reply {
            Reply::Completed(result) => (false, result.clone()),
            Reply::Rejected(reason) => (true, reason.clone()),
            Reply::Accepted | Reply::Conflict | Reply::Busy | Reply::Unfinished => return None,
        };
        Some(Self { to: to.clone(), command_id: command_id.clone(), is_refusal, result })
    }

    /// The body that is posted.
    pub(super) fn json(&self) -> String {
        let text = |text: &str| Value::from(text).to_string();
        let result = match std::str::from_utf8(&self.result) {
            // As it stands: read and written again, a number could change.
            Ok(json) if serde_json::from_str::<IgnoredAny>(json).is_ok() => json.into(),
            _ => text(&String::from_utf8_lossy(&self.result)),
        };
        format!(
            "{{\"command_id\":{},\"outcome\":\"{}\",\"result\":{result},\"evidence\":{}}}",
            text(self.command_id.as_str()),
            if self.is_refusal { "rejected" } else { "completed" },
            text(EVIDENCE),
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn receipt(reply: &Reply) -> Option<Receipt> {
        let id = CommandId::new("订单:\"1\"").unwrap();
        Receipt::of(reply, &id, &Uri::from_static("http://a/r"))
    }

    #[test]
    fn a_result_stands_as_it_is_and_a_reason_as_text() {
        let of = |reply: Reply| receipt(&reply).unwrap().json();
        let body = of(Reply::Completed(b"{ \"n\" : 1.0 }".to_vec()));
        assert!(body.contains("\"result\":{ \"n\" : 1.0 },"), "{body}");
        let read: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (&read["command_id"], &read["outcome"]),
            (&json!("订单:\"1\""), &json!("completed"))
        );
        let read: Value =
            serde_json::from_str(&of(Reply::Rejected(b"no \"x\"\xff".to_vec()))).unwrap();
        assert_eq!(
            (&read["outcome"], &read["result"]),
            (&json!("rejected"), &json!("no \"x\"\u{fffd}"))
        );
    }

    #[test]
    fn what_is_no_outcome_has_no_receipt() {
        for reply in [Reply::Accepted, Reply::Conflict, Reply::Busy, Reply::Unfinished] {
            assert_eq!(receipt(&reply), None, "{reply:?}");
        }
    }
}
