//! What a question does: found out, not sent again.
//!
//! Guarantees: a store keeps questions as the state machine says. Does not: ask; transports do.

use counterfoil_core::domain::{Answer, Micros, Outcome, ResultBody, State};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Claimed, Ended, Settled};

use super::Hands;
use super::scene::{Scene, askable};

fn not_there(believed: bool) -> Ended {
    Ended::Answer(Answer::NotThere { believed, reason: "no such key".into() })
}

fn unclear() -> Ended {
    Ended::Answer(Answer::Unclear { reason: "HTTP 500".into() })
}

/// A command in doubt whose question was claimed.
async fn asked<H: Hands>(scene: &Scene<H>) -> Claimed {
    let (_, settled) = scene.sent("a", Outcome::unknown("reset")).await;
    assert_eq!(settled, Settled::Open(State::Asking));
    scene.advance(91);
    let question = scene.claim().await;
    assert_eq!((question.delivery.state, question.delivery.asks), (State::Asking, 1));
    question
}

fn quiet_until(claimed: &Claimed) -> Option<Micros> {
    let quiet = counterfoil_core::domain::Span::from_secs(60);
    claimed.delivery.last_lease_until.map(|until| until.plus(quiet))
}

pub(super) async fn a_doubt_is_asked_about_after_the_quiet_time<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    let (claimed, _) = scene.sent("a", Outcome::unknown("reset")).await;
    let listed = scene.listed("a").await;
    assert_eq!((listed.state.as_str(), listed.available_at), ("asking", quiet_until(&claimed)));
    scene.advance(89);
    assert_eq!(scene.look().await.claimed, []);
    scene.advance(2);
    let question = scene.claim().await;
    assert_eq!(question.delivery.attempts, 1, "a question is no attempt");
    assert_eq!(question.delivery.first_sent_at, claimed.delivery.first_sent_at);
    assert!(question.delivery.token > claimed.delivery.token);
}

pub(super) async fn an_answer_that_it_is_done_ends<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    let question = asked(&scene).await;
    let done = Answer::Done { result: ResultBody::whole("job 7"), evidence: "GET 200".into() };
    assert_eq!(scene.end(&question, Ended::Answer(done)).await, Settled::Ended("completed"));
    let receipt = scene.story("a").await.receipts.remove(0);
    assert_eq!(receipt.result.as_deref(), Some(b"job 7".as_slice()));
    assert_eq!(receipt.source.as_deref(), Some("question"));
}

pub(super) async fn an_answer_that_it_is_not_there_clears_the_doubt<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    let question = asked(&scene).await;
    let settled = scene.end(&question, not_there(true)).await;
    assert_eq!(settled, Settled::Open(State::Pending));
    let story = scene.story("a").await;
    assert_eq!((story.listed.in_doubt, story.first_sent_at), (false, None));
    assert_eq!(scene.tries("a").await, ["send unknown", "ask not_there"]);
    assert_eq!(scene.claim().await.delivery.attempts, 2);
}

pub(super) async fn what_cannot_be_believed_is_asked_again_until_uncertain<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    let mut question = asked(&scene).await;
    for ended in [not_there(false), unclear()] {
        assert_eq!(scene.end(&question, ended).await, Settled::Open(State::Asking));
        scene.advance(600);
        question = scene.claim().await;
    }
    assert_eq!(question.delivery.asks, 3);
    assert_eq!(scene.end(&question, unclear()).await, Settled::Open(State::Uncertain));
    assert_eq!(scene.store.known(&["a".into()]).await.unwrap(), [true]);
    assert!(scene.listed("a").await.in_doubt);
}

pub(super) async fn a_question_whose_lease_ran_out_is_asked_again<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    let question = asked(&scene).await;
    scene.advance(31);
    assert_eq!(scene.look().await.claimed, [], "after a backoff");
    scene.advance(600);
    let again = scene.claim().await;
    assert_eq!((again.delivery.state, again.delivery.asks), (State::Asking, 2));
    assert_eq!(
        scene.end(&question, unclear()).await,
        Settled::Ignored(counterfoil_core::domain::Reason::StaleToken)
    );
    assert_eq!(scene.tries("a").await, ["send unknown", "ask expired"]);
}

pub(super) async fn a_question_handed_back_is_no_question<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    let question = asked(&scene).await;
    let settled = scene.end(&question, Ended::HandedBack).await;
    assert_eq!(settled, Settled::Open(State::Asking));
    assert_eq!(scene.claim().await.delivery.asks, 1);
}

pub(super) async fn questions_touch_neither_attempts_nor_the_first_send<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    let (sent, _) = scene.sent("a", Outcome::unknown("reset")).await;
    let mut asks = Vec::new();
    for ended in [unclear(), not_there(false), unclear()] {
        scene.advance(700);
        let question = scene.claim().await.delivery;
        asks.push(question.asks);
        let sends = (question.attempts, question.first_sent_at, question.round_since);
        let before = &sent.delivery;
        assert_eq!(sends, (before.attempts, before.first_sent_at, before.round_since));
        assert_eq!(question.last_lease_until, before.last_lease_until, "the send's own lease");
        assert!(question.in_doubt);
        let question = Claimed { delivery: question, ..sent.clone() };
        scene.end(&question, ended).await;
    }
    assert_eq!(asks, [1, 2, 3]);
    let story = scene.story("a").await;
    assert_eq!((story.listed.attempts, story.first_sent_at), (1, sent.delivery.first_sent_at));
}

pub(super) async fn after_the_last_question_a_person_is_asked_once<H: Hands>(hands: H) {
    let scene = Scene::new(hands, askable()).await;
    let first = asked(&scene).await;
    scene.end(&first, unclear()).await;
    scene.advance(700);
    let second = scene.claim().await;
    scene.end(&second, unclear()).await;
    scene.advance(700);
    assert_eq!(scene.claim().await.delivery.asks, 3);
    scene.advance(31);
    let parked = scene.look().await.parked;
    assert_eq!(parked.len(), 1, "its lease ran out, and it was the last: {parked:?}");
    assert_eq!((parked[0].command.as_str(), parked[0].state), ("a", State::Uncertain));
    scene.advance(86_400);
    let nothing = counterfoil_core::port::store::Exchanged::default();
    assert_eq!(scene.look().await, nothing, "neither sent, nor asked about, nor announced again");
    let (tries, state) = (scene.tries("a").await, scene.state("a").await);
    assert_eq!(tries, ["send unknown", "ask unclear", "ask unclear", "ask expired"]);
    assert_eq!(state, "uncertain");
}
