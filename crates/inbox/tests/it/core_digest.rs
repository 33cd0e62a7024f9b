//! The digest of core fields, the same at the sender, at the receiver, and in any other language.
//!
//! Guarantees: fixed vectors, whose digests were computed by other programs over the text beside
//! them. Does not: use this project's code to say what it expects.

use std::process::Command as Process;

use counterfoil_core::domain::Command;
use counterfoil_inbox::core_digest;
use serde_json::Value;

/// A body, the pointers of its core, the RFC 8785 form of their values, and its SHA-256.
const VECTORS: &[(&str, &[&str], &str, &str)] = &[
    (
        "{\"order_id\":\"A-1\",\"qty\":2,\"at\":\"09:00\"}",
        &["/order_id", "/qty"],
        "[\"A-1\",2]",
        "fd1087146e6b2f30e13acfe4c9f6e9b24f55e9d121c1ede4f58ffad80d0c8050",
    ),
    (
        "{ \"qty\" : 2.0, \"at\":\"09:01\", \"order_id\" : \"\\u0041-1\" }",
        &["/order_id", "/qty"],
        "[\"A-1\",2]",
        "fd1087146e6b2f30e13acfe4c9f6e9b24f55e9d121c1ede4f58ffad80d0c8050",
    ),
    (
        "{\"order_id\":\"A-1\",\"qty\":2}",
        &["/qty", "/order_id"],
        "[2,\"A-1\"]",
        "80dda1af5924e9c3d35e7f5904778ba62cfbe3fd5316ae79ed24266c5567285f",
    ),
    (
        "{\"a\":\"订单 📦\",\"b\":null,\"c\":true,\"d\":[]}",
        &["/a", "/b", "/c", "/d"],
        "[\"订单 📦\",null,true,[]]",
        "539dcbe4727bf02f8da0b48ad0f674f9ac7c72b217002277a634ba79bb77f745",
    ),
    (
        "{\"n\":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,-0,\
          1e21,0.30000000000000004]}",
        &["/n"],
        "[[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21,0.30000000000000004]]",
        "caba80ebef23029287a18924cc35adcaed625a9028e08fe69a5453b86d8a49c3",
    ),
    (
        "{\"s\":\"\\u20ac$\\u000F\\u000aA\\u0027\\u0042\\u0022\\u005c\\\\\\\"\\/\"}",
        &["/s"],
        "[\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"]",
        "23247fdde115ba9e94cc104ce7d0c5df2f563bb1c8dc765f145d1b75daac98ed",
    ),
    (
        "{\"o\":{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\
          \"\\ud83d\\ude00\":5,\"\\u0080\":6,\"\\u00f6\":7}}",
        &["/o"],
        "[{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}]",
        "b3ef7bac7ad025ab5788fd1501865f80a00f97afa5e185f9ddc719bef233e485",
    ),
    (
        "{\"item\":{\"z\":1,\"a\":{\"y\":[],\"x\":{}}},\"x/y\":1,\"m~n\":2}",
        &["/item", "/x~1y", "/m~0n"],
        "[{\"a\":{\"x\":{},\"y\":[]},\"z\":1},1,2]",
        "dc9e86c7a1fd50a2cd853c181e50d61774e4b69b13e4d8869799d4839d94e2cf",
    ),
];

fn values(body: &str, pointers: &[&str]) -> Vec<Value> {
    let body: Value = serde_json::from_str(body).unwrap();
    pointers.iter().map(|pointer| body.pointer(pointer).unwrap().clone()).collect()
}

#[test]
fn sender_and_receiver_agree_with_the_contract_byte_for_byte() {
    for (body, pointers, canonical, digest) in VECTORS {
        let received = core_digest(body.as_bytes(), pointers).unwrap();
        assert_eq!(received.to_hex(), *digest, "{body} is not {canonical}");
        let command = Command::bytes("a", "shipping", "order.paid", body.as_bytes()).unwrap();
        let sent = command.core(&values(body, pointers)).unwrap();
        assert_eq!(sent.core_digest, Some(received), "{body}");
    }
}

/// What a receiver in Python gets: from the canonical text, which a reader can check by eye.
#[test]
fn the_vectors_are_what_another_program_computes() {
    let script = "import hashlib, sys\n\
                  print(hashlib.sha256(sys.argv[1].encode()).hexdigest())";
    for (_, _, canonical, digest) in VECTORS {
        let output = Process::new("python3").args(["-c", script, canonical]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), *digest, "{canonical}");
    }
}

#[test]
fn the_body_that_a_command_carries_has_the_digest_that_the_command_names() {
    let order = serde_json::json!({
        "order_id": "订单-1", "amount": 0.1 + 0.2, "lines": [{"sku": "a", "n": 2}], "at": "09:00"
    });
    let core = [order["order_id"].clone(), order["amount"].clone(), order["lines"].clone()];
    let command = Command::json("a", "shipping", "order.paid", &order).unwrap();
    let command = command.core(&core).unwrap();
    let pointers = ["/order_id", "/amount", "/lines"];
    let received = core_digest(&command.body, &pointers).unwrap();
    assert_eq!(command.core_digest, Some(received));
}
