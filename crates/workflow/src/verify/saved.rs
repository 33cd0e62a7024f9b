//! Whether a saved state is the one that the events lead to.
//!
//! Guarantees: compared is what a runner would go on with, the saved state as its program reads it
//! back; the order of a set without one is no difference. Does not: judge a state that does not
//! read back, since a runner folds the events then.

use std::sync::Arc;

use counterfoil_core::port::workflow::Snapshot;
use serde_json::Value;

use crate::instance::Instance;
use crate::live::AnyProgram;

/// How often a state is read back and written, to see whether its lists have an order.
const TIMES: usize = 8;

/// The saved state and the replayed one as text, where they differ.
pub(super) fn difference(
    code: &Arc<dyn AnyProgram>,
    saved: &Snapshot,
    replayed: &Instance,
) -> Option<(String, String)> {
    let read = || {
        let instance = Instance::restore(replayed.stream.clone(), Arc::clone(code), saved).ok()?;
        written(&instance)
    };
    let (saved, replayed) = (read()?, written(replayed)?);
    if saved == replayed {
        return None;
    }
    let has_order = (0..TIMES).filter_map(|_| read()).all(|again| again == saved);
    if !has_order && without_order(saved.clone()) == without_order(replayed.clone()) {
        return None;
    }
    Some((saved.to_string(), replayed.to_string()))
}

/// The whole of an instance as it is saved.
fn written(instance: &Instance) -> Option<Value> {
    let snapshot = instance.save().ok()??;
    serde_json::from_slice(&snapshot.state).ok()
}

/// The same with every list sorted.
fn without_order(value: Value) -> Value {
    match value {
        Value::Array(list) => {
            let mut list: Vec<_> = list.into_iter().map(without_order).collect();
            list.sort_by_cached_key(Value::to_string);
            Value::Array(list)
        }
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, one)| (key, without_order(one))).collect())
        }
        other => other,
    }
}
