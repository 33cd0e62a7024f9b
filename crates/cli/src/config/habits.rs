//! How a destination's answers are read and its key is sent, where it has habits of its own.
//!
//! Guarantees: a meaning is one of seven names, a place in a body is a JSON pointer, a code means
//! one thing. Does not: read answers; the transport does.

use std::collections::BTreeMap;

use counterfoil_core::domain::{
    Asking, Codes, Completion, Habits, Key, KeyForm, Meaning, Profile, Success,
};
use serde::Deserialize;
use serde_json::Value as Json;
use toml::Spanned;

use super::ask::status_code;
use super::code::Code;
use super::destination::Reading;
use super::file::Value;
use crate::exit::Failure;

/// Codes that stand at one place.
type List = Spanned<Vec<Code>>;

/// `success = { … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuccessTable {
    json: Option<Value>,
    r#in: Option<List>,
    text: Option<Value>,
}

/// `outcome = { … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutcomeTable {
    json: Option<Value>,
    completed: Option<List>,
    accepted: Option<List>,
    rejected: Option<List>,
    conflict: Option<List>,
    not_sent: Option<List>,
    unknown: Option<List>,
    ask: Option<List>,
}

/// `key = { … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyTable {
    header: Option<Value>,
    form: Option<Value>,
    prefix: Option<Value>,
}

impl Reading<'_> {
    /// All habits; `asking` and `completion` are what they must fit to.
    pub(super) fn habits(
        &self,
        asking: Option<&Asking>,
        completion: Completion,
    ) -> Result<Habits, Failure> {
        Ok(Habits {
            answers: self.answers(asking)?,
            success: self.success()?,
            outcome: self.outcome(asking)?,
            profile: self.profile(completion)?,
            key: self.key_habit()?,
        })
    }

    fn answers(&self, asking: Option<&Asking>) -> Result<BTreeMap<u16, Meaning>, Failure> {
        let mut answers = BTreeMap::new();
        for (status, value) in &self.table().answers {
            let text = status.get_ref();
            let Some(code) = text.parse().ok().and_then(status_code) else {
                let why = format!("`answers`: {text:?} is no status: write 100 to 599");
                return Err(self.page.refuse(&status.span(), &why));
            };
            let key = format!("answers.{text}");
            let name = self.text(&key, value)?;
            let Some(meaning) = Meaning::from_name(&name) else {
                let why = format!("there is no such meaning: write one of {}", meanings());
                return Err(self.refuse_value(&key, value, &why));
            };
            self.can_ask(meaning, asking, &key)?;
            answers.insert(code, meaning);
        }
        Ok(answers)
    }

    fn success(&self) -> Result<Option<Success>, Failure> {
        let Some(table) = &self.table().success else { return Ok(None) };
        let given = table.get_ref();
        match (&given.json, &given.r#in, &given.text) {
            (Some(json), Some(codes), None) => Ok(Some(Success::Json {
                json: self.pointer("success.json", json)?,
                one_of: self.codes("success.in", codes)?,
            })),
            (None, None, Some(text)) => {
                let read = self.text("success.text", text)?;
                if read.trim().is_empty() {
                    let why = "is empty: give the body that says success";
                    return Err(self.refuse_value("success.text", text, why));
                }
                Ok(Some(Success::Text { text: read }))
            }
            _ => Err(self.page.refuse(
                &table.span(),
                "`success` is { json = \"/code\", in = [0] } or { text = \"success\" }",
            )),
        }
    }

    fn outcome(&self, asking: Option<&Asking>) -> Result<Option<Codes>, Failure> {
        let Some(table) = &self.table().outcome else { return Ok(None) };
        let given = table.get_ref();
        let Some(json) = &given.json else {
            return Err(self.page.refuse(
                &table.span(),
                "`outcome.json` is missing: say where the code stands in the body, such as \
                 json = \"/code\"",
            ));
        };
        let mut of = BTreeMap::<Meaning, Vec<Json>>::new();
        for (meaning, list) in given.lists() {
            let key = format!("outcome.{}", meaning.name());
            self.can_ask(meaning, asking, &key)?;
            let codes = self.codes(&key, list)?;
            if let Some(twice) = codes.iter().find(|code| of.values().flatten().any(|c| c == *code))
            {
                let why = format!("`{}`: {twice} has another meaning already", self.key(&key));
                return Err(self.page.refuse(&list.span(), &why));
            }
            of.insert(meaning, codes);
        }
        if of.is_empty() {
            let why = format!("`outcome` names no code: give a list to one of {}", meanings());
            return Err(self.page.refuse(&table.span(), &why));
        }
        Ok(Some(Codes { json: self.pointer("outcome.json", json)?, of }))
    }

    fn profile(&self, completion: Completion) -> Result<Profile, Failure> {
        let Some(value) = &self.table().profile else { return Ok(Profile::Plain) };
        let refuse = |why| Err(self.refuse_value("profile", value, why));
        match (self.text("profile", value)?.as_str(), completion) {
            ("webhook", Completion::Receipt) => refuse(
                "\"webhook\" lets any 2xx complete a command, and completion = \"receipt\" lets \
                 none: keep one of the two",
            ),
            ("webhook", _) => Ok(Profile::Webhook),
            _ => refuse("write \"webhook\", or leave it away for the plain table of answers"),
        }
    }

    fn key_habit(&self) -> Result<Key, Failure> {
        let mut key = Key::default();
        let Some(table) = &self.table().key else { return Ok(key) };
        let table = table.get_ref();
        if let Some(value) = &table.header {
            key.header = self.text("key.header", value)?;
            let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            if key.header.is_empty() || !key.header.bytes().all(is_token) {
                return Err(self.refuse_value("key.header", value, "is no name of a header"));
            }
        }
        if let Some(value) = &table.form {
            key.form = match self.text("key.form", value)?.as_str() {
                "quoted" => KeyForm::Quoted,
                "bare" => KeyForm::Bare,
                "uuid" => KeyForm::Uuid,
                _ => {
                    let why = "write \"quoted\" (as the IETF draft has it), \"bare\" or \"uuid\"";
                    return Err(self.refuse_value("key.form", value, why));
                }
            };
        }
        if let Some(value) = &table.prefix {
            key.prefix = self.text("key.prefix", value)?;
            if key.prefix.chars().any(char::is_control) {
                return Err(self.refuse_value("key.prefix", value, "holds a control character"));
            }
        }
        Ok(key)
    }

    /// A JSON pointer (RFC 6901) to a member.
    pub(super) fn pointer(&self, key: &str, value: &Value) -> Result<String, Failure> {
        let text = self.text(key, value)?;
        let mut escapes = text.split('~').skip(1);
        if text.starts_with('/') && escapes.all(|after| after.starts_with(['0', '1'])) {
            return Ok(text);
        }
        let why = "is no JSON pointer: it begins with `/`, such as \"/code\" or \"/data/state\" \
                   (`~` is written `~0`, `/` in a name `~1`)";
        Err(self.refuse_value(key, value, why))
    }

    /// At least one code.
    pub(super) fn codes(&self, key: &str, list: &List) -> Result<Vec<Json>, Failure> {
        let refuse =
            |why: &str| self.page.refuse(&list.span(), &format!("`{}`: {why}", self.key(key)));
        if list.get_ref().is_empty() {
            return Err(refuse("the list is empty: give at least one value"));
        }
        list.get_ref().iter().map(Code::read).collect::<Result<_, _>>().map_err(|why| refuse(&why))
    }

    fn can_ask(&self, meaning: Meaning, asking: Option<&Asking>, key: &str) -> Result<(), Failure> {
        if meaning != Meaning::Ask || asking.is_some() {
            return Ok(());
        }
        let why = format!("`{key}` is \"ask\", but the destination cannot be asked");
        Err(self.refuse(&why).help("add ask = { url, quiet }, or let it mean \"unknown\""))
    }
}

impl OutcomeTable {
    fn lists(&self) -> impl Iterator<Item = (Meaning, &List)> {
        let lists = [
            (Meaning::Completed, &self.completed),
            (Meaning::Accepted, &self.accepted),
            (Meaning::Rejected, &self.rejected),
            (Meaning::Conflict, &self.conflict),
            (Meaning::NotSent, &self.not_sent),
            (Meaning::Unknown, &self.unknown),
            (Meaning::Ask, &self.ask),
        ];
        lists.into_iter().filter_map(|(meaning, list)| Some((meaning, list.as_ref()?)))
    }
}

fn meanings() -> String {
    Meaning::ALL.map(|(name, _)| name).join(", ")
}
