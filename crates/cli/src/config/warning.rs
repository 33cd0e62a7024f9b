//! What is allowed and worth a word: a configuration that works, but perhaps not as meant.
//!
//! Guarantees: `relay` and `doctor` say the same words. Does not: stop anything.

use counterfoil_console::Role;
use counterfoil_core::domain::{Completion, NotThere};
use counterfoil_core::port::Announce;

use super::destination::Way;
use super::{ApiSettings, DestinationSettings};

/// A destination, and what to know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    /// The destination; empty: all.
    pub(crate) destination: String,
    /// What to know, with the way out.
    pub(crate) text: String,
}

/// All that is worth a word.
pub(crate) fn warnings(
    destinations: &[DestinationSettings],
    api: Option<&ApiSettings>,
    announce: Option<&Announce>,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some(to) = announce.map(|announce| &announce.destination)
        && !destinations.iter().any(|destination| destination.name == *to)
    {
        let text = format!(
            "[announce] to is {to:?}, and there is no [destination.{to}] here, so alerts wait \
             until some relay serves it",
            to = to.as_str()
        );
        warnings.push(Warning { destination: String::new(), text });
    }
    for destination in destinations {
        let contract = &destination.terms.contract;
        let mut warn = |text: String| {
            warnings.push(Warning { destination: destination.name.to_string(), text });
        };
        if let Way::Log { .. } = destination.way {
            warn(
                "transport is \"log\": its commands are written to the log and count as completed, \
                 and are delivered nowhere; write transport = \"http\" before it is for real"
                    .into(),
            );
            continue;
        }
        if contract.completion == Completion::Receipt {
            receipts(api).into_iter().for_each(&mut warn);
        }
        let not_there = contract.ask.as_ref().and_then(|ask| ask.not_there.as_ref());
        if let Some(NotThere { status: 404, json: None, .. }) = not_there {
            warn(
                "not_there = { status = 404 } alone believes the 404 of any gateway, and what \
                 was done may be sent again: add json and in, or leave not_there away, so that a \
                 control question comes first"
                    .into(),
            );
        }
    }
    warnings
}

/// How a receipt could fail to come.
fn receipts(api: Option<&ApiSettings>) -> Option<String> {
    if api.and_then(ApiSettings::receipt_url).is_none() {
        return Some(
            "completion is \"receipt\", and [api] public_url is not given, so receivers are not \
             told where to report: that is right where they write counterfoil_report by SQL"
                .into(),
        );
    }
    let tokens = api.map_or(&[][..], |api| &api.tokens);
    let none = !tokens.is_empty() && tokens.iter().all(|token| token.role() == Role::Read);
    none.then(|| {
        "completion is \"receipt\", and no token of [api] tokens has the role \"receipt\": what \
         receivers report is refused; add one and give it to the receiver"
            .into()
    })
}
