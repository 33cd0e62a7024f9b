//! The configuration file as it is written: TOML tables and their keys.
//!
//! Guarantees: an unknown key is an error. Does not: read variables or files, or judge values;
//! see the settings beside it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::announce::AnnounceTable;
use super::api::ApiTable;
use super::ask::AskTable;
use super::expect::Query;
use super::habits::{KeyTable, OutcomeTable, SuccessTable};
use super::idempotent::Repeats;
use super::telemetry::TelemetryTable;
use super::text::Text;
use super::tls::TlsTable;

/// A string that knows where it stands.
pub(crate) type Value = Spanned<Text>;

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    #[serde(default)]
    pub(crate) store: StoreTable,
    #[serde(default)]
    pub(crate) relay: RelayTable,
    pub(crate) api: Option<Spanned<ApiTable>>,
    pub(crate) announce: Option<Spanned<AnnounceTable>>,
    pub(crate) telemetry: Option<Spanned<TelemetryTable>>,
    #[serde(default)]
    pub(crate) audit: AuditTable,
    #[serde(default)]
    pub(crate) archive: ArchiveTable,
    #[serde(default)]
    pub(crate) destination: BTreeMap<String, Spanned<DestinationTable>>,
}

/// `[store]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoreTable {
    pub(crate) url: Option<Value>,
    pub(crate) source: Option<Value>,
}

/// `[relay]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RelayTable {
    pub(crate) workers: Option<Spanned<u32>>,
    pub(crate) lease: Option<Value>,
    pub(crate) poll: Option<Value>,
    pub(crate) drain: Option<Value>,
    pub(crate) body_bytes_max: Option<Value>,
}

/// `[audit]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditTable {
    #[serde(default)]
    pub(crate) expect: Vec<Query>,
}

/// `[archive]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArchiveTable {
    pub(crate) dir: Option<Value>,
}

/// `[destination.NAME]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DestinationTable {
    pub(crate) transport: Option<Value>,
    pub(crate) body: Option<Spanned<bool>>,
    pub(crate) url: Option<Value>,
    pub(crate) method: Option<Value>,
    pub(crate) request_timeout: Option<Value>,
    pub(crate) idempotent: Option<Spanned<Repeats>>,
    pub(crate) ask: Option<Spanned<AskTable>>,
    pub(crate) max_asks: Option<Spanned<u32>>,
    pub(crate) completion: Option<Value>,
    pub(crate) receipt_timeout: Option<Value>,
    #[serde(default)]
    pub(crate) retry: RetryTable,
    pub(crate) on_refusal: Option<Value>,
    #[serde(default)]
    pub(crate) answers: BTreeMap<Spanned<String>, Value>,
    pub(crate) success: Option<Spanned<SuccessTable>>,
    pub(crate) outcome: Option<Spanned<OutcomeTable>>,
    pub(crate) profile: Option<Value>,
    pub(crate) key: Option<Spanned<KeyTable>>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) secrets: Vec<Value>,
    pub(crate) result_bytes_max: Option<Value>,
    pub(crate) tls: Option<Spanned<TlsTable>>,
    pub(crate) proxy: Option<Value>,
    pub(crate) rate: Option<Value>,
    pub(crate) concurrency: Option<Spanned<u32>>,
    pub(crate) on_parked: Option<Value>,
}

/// `retry` of a destination.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetryTable {
    pub(crate) initial: Option<Value>,
    pub(crate) max: Option<Value>,
    pub(crate) max_attempts: Option<Spanned<u32>>,
    pub(crate) give_up_after: Option<Value>,
}
