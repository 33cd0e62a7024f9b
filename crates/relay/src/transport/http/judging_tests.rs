//! What bodies show, and what they do not.

use counterfoil_core::domain::{Digest, ResultBody};

use super::*;

fn whole(text: &str) -> Body {
    Body { result: ResultBody::whole(text), end: End::Whole }
}

fn habits(json: &str) -> Habits {
    serde_json::from_str(json).unwrap()
}

const SUCCESS: &str = r#"{"success":{"json":"/code","in":[0,"ok",null]}}"#;
const CODES: &str = r#"{"outcome":{"json":"/code","of":{"unknown":[21],"rejected":[33]}}}"#;
const DEFINING: &str = r#"{"outcome":{"json":"/code","of":{"completed":[31],"rejected":[33]}}}"#;

#[test]
fn a_success_is_shown_by_its_value_and_by_no_other() {
    let of = |text| judged(&habits(SUCCESS), true, &whole(text));
    assert_eq!(of(r#"{"code":0}"#), Judged::Success("/code is 0".into()));
    assert!(matches!(of(r#"{"code":"ok"}"#), Judged::Success(_)));
    assert!(matches!(of(r#"{"code":null}"#), Judged::Success(_)));
    for (text, why) in [
        (r#"{"code":"0"}"#, "/code is \"0\""),
        (r#"{"code":0.0}"#, "/code is 0.0"),
        (r#"{"code":false}"#, "/code is false"),
        (r#"{"code":[0]}"#, "/code is a list"),
        (r#"{"code":{}}"#, "/code is an object"),
        (r#"{"Code":0}"#, "nothing stands at /code"),
        (r#"[{"code":0}]"#, "nothing stands at /code"),
        ("0", "nothing stands at /code"),
        ("", "its body is no JSON"),
        (r#"{"code":0"#, "its body is no JSON"),
        (r#"{"code":0} and more"#, "its body is no JSON"),
        ("<html>", "its body is no JSON"),
    ] {
        assert_eq!(of(text), Judged::NotShown(why.into()), "{text}");
    }
    assert_eq!(judged(&habits(SUCCESS), false, &whole("")), Judged::Silent);
}

#[test]
fn a_text_is_compared_byte_for_byte_without_the_space_around_it() {
    let of = |text| judged(&habits(r#"{"success":{"text":"success"}}"#), true, &whole(text));
    assert!(matches!(of("success"), Judged::Success(_)));
    assert!(matches!(of(" success\r\n"), Judged::Success(_)));
    for no in ["", "Success", "successful", "\"success\"", "fail"] {
        assert_eq!(of(no), Judged::NotShown("the body is not success.text".into()), "{no}");
    }
}

#[test]
fn what_was_not_read_whole_shows_nothing() {
    let success = habits(r#"{"success":{"text":"ok"}}"#);
    let result = ResultBody::whole("ok");
    for end in [End::Broken("reset".into()), End::Enough] {
        let body = Body { result: result.clone(), end };
        assert!(matches!(judged(&success, true, &body), Judged::NotShown(_)), "{body:?}");
    }
    let full_digest = Some(Digest::of(b"ok then"));
    let cut = ResultBody { bytes: b"ok".into(), full_len: 7, full_digest };
    let cut = Body { result: cut, end: End::Whole };
    let why = Judged::NotShown("its body is longer than 2 bytes".into());
    assert_eq!(judged(&success, true, &cut), why);
}

#[test]
fn a_code_means_what_its_list_says() {
    let of = |json, is_2xx, text| judged(&habits(json), is_2xx, &whole(text));
    let rejected = Judged::Code(Meaning::Rejected, "/code is 33; outcome: rejected".into());
    assert_eq!(of(CODES, true, r#"{"code":33}"#), rejected);
    assert_eq!(of(CODES, false, r#"{"code":33}"#), rejected);
    assert_eq!(of(CODES, true, r#"{"code":0}"#), Judged::Silent);
    assert_eq!(of(CODES, false, "<html>"), Judged::Silent);
    assert_eq!(of(CODES, true, "<html>"), Judged::NotShown("its body is no JSON".into()));
    let other = Judged::NotShown("/code is 0".into());
    assert_eq!(of(DEFINING, true, r#"{"code":0}"#), other);
    assert!(matches!(of(DEFINING, true, r#"{"code":31}"#), Judged::Code(Meaning::Completed, _)));
    assert_eq!(of(DEFINING, false, r#"{"code":0}"#), Judged::Silent);
}

#[test]
fn a_long_code_is_shown_cut() {
    let text = format!(r#"{{"code":"{}"}}"#, "单".repeat(99));
    let Judged::NotShown(why) = judged(&habits(SUCCESS), true, &whole(&text)) else { panic!() };
    assert!(why.len() < 90 && why.contains("单…"), "{why}");
}

#[test]
fn not_there_is_said_in_so_many_words_or_not_at_all() {
    let words: NotThere =
        serde_json::from_str(r#"{"status":404,"json":"/error","in":["no_such_key"]}"#).unwrap();
    let of = |status, text| is_not_there(&words, status, &whole(text)).is_ok();
    assert!(of(404, r#"{"error":"no_such_key"}"#));
    assert!(!of(404, r#"{"error":"no_such_route"}"#));
    assert!(!of(404, r#"{}"#));
    assert!(!of(404, "no_such_key"));
    assert!(!of(200, r#"{"error":"no_such_key"}"#));
    let broken = Body { end: End::Broken("reset".into()), ..whole(r#"{"error":"no_such_key"}"#) };
    assert!(is_not_there(&words, 404, &broken).is_err());
    let by_status: NotThere = serde_json::from_str(r#"{"status":410}"#).unwrap();
    assert!(is_not_there(&by_status, 410, &broken).is_ok());
    assert!(is_not_there(&by_status, 404, &whole("")).is_err());
}
