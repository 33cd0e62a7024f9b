//! Asking a receiver what became of a command, by its key.
//!
//! Guarantees: a question is a GET without a body, and follows no redirect; only the receiver's own
//! word, a 200 that shows a success, or `not_there` in so many words is an answer; whatever
//! else is said is unclear. Does not: act, remember, or believe a bare 404: the relay asks a
//! control question first.
//!
//! `answers` are about sends and are not looked at: a status of a question means something else.
//! `outcome` and `success` are about bodies, and a 200 is judged by both: a gateway that answers
//! every question with 200 says in the body what it knows.

use bytes::Bytes;
use counterfoil_core::domain::{Answer, Meaning, NotThere};
use counterfoil_core::port::Question;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};

use super::answer::{Reading, evidence, is_framed};
use super::ask_url::AskUrl;
use super::body::{Body, End, Wanted};
use super::connection::Sent;
use super::excerpt::with_excerpt;
use super::headers::{add_trace, configured, every_time};
use super::judging::{JUDGED_BYTES_MAX, Judged, is_not_there, judged};
use super::key::Keys;
use super::line::{Failed, Line};
use super::options::{AskOptions, HttpOptions};
use super::proxy::Route;
use super::refused::HttpRefused;
use super::retry_after::retry_after;
use super::url::target;
use super::word::{Said, Word, said};
use super::{cloud_events, habits};

/// Asks about the commands of one destination.
pub(super) struct Asker {
    url: AskUrl,
    origin: Uri,
    is_tls: bool,
    forwarded: bool,
    fixed: HeaderMap,
    keys: Keys,
    not_there: Option<NotThere>,
    line: Line,
}

impl Asker {
    /// # Errors
    /// [`HttpRefused`] names the option, the rule and the way out.
    pub(super) fn new(ask: &AskOptions, options: &HttpOptions) -> Result<Self, HttpRefused> {
        let (template, url) = AskUrl::new(&ask.url)?;
        if let Some(words) = &ask.not_there {
            habits::check_not_there(words)?;
        }
        let route = Route::new(&options.proxy, &url)?;
        Ok(Self {
            url: template,
            forwarded: route.forwarder().is_some(),
            fixed: every_time(&url, &configured(options)?, route.forwarder()),
            keys: Keys::new(&options.habits.key)?,
            not_there: ask.not_there.clone(),
            line: Line::new(&url, &route, options)?,
            is_tls: url.is_tls,
            origin: url.origin,
        })
    }

    /// Whether it asks by `https`.
    pub(super) const fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Asks once.
    pub(super) async fn ask(&self, question: &Question, reading: &Reading) -> Answer {
        self.answered(question, reading).await.unwrap_or_else(|reason| Answer::Unclear { reason })
    }

    async fn answered(&self, question: &Question, reading: &Reading) -> Result<Answer, String> {
        let deadline = self.line.deadline();
        let request = self.request(question)?;
        let connection = self.line.connect(deadline).await?;
        let answered = match self.line.send(connection, request, deadline).await {
            Ok(answered) => answered,
            Err(Failed::NotSent(reason) | Failed::Unknown(reason)) => return Err(reason),
        };
        let wanted = wanted(&answered.1, reading.result_bytes_max);
        let (head, body) = self.line.read(answered, wanted, deadline).await;
        let read = Read { status: head.status, headers: &head.headers, reading };
        Ok(read.answer(self.not_there.as_ref(), body, question))
    }

    fn request(&self, question: &Question) -> Result<Sent, String> {
        let id = question.command_id.as_str();
        let key = self.keys.plain(&question.source, id);
        let no_url = || format!("no URL can name command {id}, so nothing was asked");
        let path = self.url.path(id, &key).ok_or_else(no_url)?;
        let path: Uri = path.parse().map_err(|_| no_url())?;
        let mut headers = self.fixed.clone();
        let source = cloud_events::value(&question.source);
        headers.insert(&cloud_events::SOURCE, source.map_err(|error| error.to_string())?);
        add_trace(&mut headers, question.trace).map_err(|error| error.to_string())?;
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.method_mut() = Method::GET;
        *request.uri_mut() = target(&self.origin, path, self.forwarded).ok_or_else(no_url)?;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// How much of the body of an answer is wanted: a result whole, anything else as far as it is
/// judged.
fn wanted(response: &Response<Incoming>, result_bytes_max: usize) -> Wanted {
    let is_result = match said(response.headers()) {
        Said::Word(word) => word == Word::Completed,
        Said::Nothing | Said::Unreadable(_) => response.status() == StatusCode::OK,
    };
    Wanted {
        kept: JUDGED_BYTES_MAX.max(if is_result { result_bytes_max } else { 0 }),
        is_result,
        is_framed: is_framed(response.status(), response.headers()),
    }
}

/// An answer to a question.
struct Read<'a> {
    status: StatusCode,
    headers: &'a HeaderMap,
    reading: &'a Reading,
}

impl Read<'_> {
    fn answer(&self, not_there: Option<&NotThere>, body: Body, question: &Question) -> Answer {
        let status = self.status.as_u16();
        let text = format!("HTTP {status}");
        match said(self.headers) {
            Said::Word(word) => return self.by_word(word, body, question),
            Said::Unreadable(note) => return unclear(format!("{text}; {note}"), &body),
            Said::Nothing => {}
        }
        let mut why_not = String::new();
        match not_there.map(|words| is_not_there(words, status, &body)) {
            Some(Ok(read)) => {
                let reason = with_excerpt(format!("{text} ({read})"), &body.result.bytes);
                return Answer::NotThere { believed: true, reason };
            }
            Some(Err(why)) => why_not = format!(" ({why})"),
            None => {}
        }
        match status {
            200 => self.by_body(text, body, question),
            202 | 409 => self.in_progress(question),
            404 if not_there.is_none() => {
                let reason = with_excerpt(text, &body.result.bytes);
                Answer::NotThere { believed: false, reason }
            }
            _ => unclear(format!("{text}{why_not}"), &body),
        }
    }

    fn by_word(&self, word: Word, body: Body, question: &Question) -> Answer {
        let name = word.name();
        let text = format!("HTTP {}; Counterfoil-Outcome: {name}", self.status.as_u16());
        match word {
            Word::Completed => self.done(text, body),
            Word::Accepted => self.in_progress(question),
            Word::Rejected => Answer::Refused { reason: with_excerpt(text, &body.result.bytes) },
            // A question carries no content that could differ from what the key stands with.
            Word::Conflict | Word::Unknown => unclear(text, &body),
        }
    }

    fn by_body(&self, text: String, body: Body, question: &Question) -> Answer {
        let (read, meaning) = match judged(&self.reading.habits, true, &body) {
            Judged::Silent => (text, Meaning::Completed),
            Judged::Success(read) => (format!("{text} (success: {read})"), Meaning::Completed),
            Judged::NotShown(why) => {
                (format!("{text}, but no success is shown: {why}"), Meaning::Unknown)
            }
            Judged::Code(meaning, read) => (format!("{text} ({read})"), meaning),
        };
        match (meaning, &body.end) {
            (Meaning::Completed, End::Broken(why)) => {
                Answer::Unclear { reason: format!("{read}, but its body broke off: {why}") }
            }
            (Meaning::Completed, _) => self.done(read, body),
            (Meaning::Accepted, _) => self.in_progress(question),
            (Meaning::Rejected, _) => {
                Answer::Refused { reason: with_excerpt(read, &body.result.bytes) }
            }
            (Meaning::Conflict | Meaning::NotSent | Meaning::Unknown | Meaning::Ask, _) => {
                unclear(read, &body)
            }
        }
    }

    fn done(&self, text: String, mut body: Body) -> Answer {
        body.cut(self.reading.result_bytes_max);
        let evidence = evidence(text, &body);
        Answer::Done { result: body.result, evidence }
    }

    fn in_progress(&self, question: &Question) -> Answer {
        Answer::InProgress { retry_after: retry_after(self.headers, question.now) }
    }
}

fn unclear(text: String, body: &Body) -> Answer {
    Answer::Unclear { reason: with_excerpt(text, &body.result.bytes) }
}
