//! `[api]`: what is taken and what is refused.

use counterfoil_console::Role;

use super::tests::config;

fn api(lines: &str) -> Result<super::ApiSettings, String> {
    let read = config(&format!("[api]\n{lines}\n")).api();
    read.map(|api| api.unwrap()).map_err(|failure| failure.whole())
}

fn refused(lines: &str) -> String {
    api(lines).err().unwrap_or_else(|| panic!("{lines} was taken"))
}

/// A secret of a file, as tests have no environment of their own.
fn secret(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, text).unwrap();
    let value = format!("value = {{ file = '{}' }}", path.display());
    (folder, value)
}

#[test]
fn it_is_read_with_its_defaults() {
    assert!(config("").api().unwrap().is_none());
    let read = api("").unwrap();
    assert_eq!(read.listen, "127.0.0.1:7070".parse().unwrap());
    assert_eq!((read.public_url.as_deref(), read.receipt_url()), (None, None));
    assert!(read.tokens.is_empty());
    assert_eq!(api("listen = \"localhost:0\"").unwrap().listen, "127.0.0.1:0".parse().unwrap());
    assert_eq!(api("listen = \"[::1]:0\"").unwrap().listen, "[::1]:0".parse().unwrap());
}

#[test]
fn it_is_read_whole() {
    let (_folder, value) = secret("s3cret\n");
    let read = api(&format!(
        "listen = \"0.0.0.0:1\"\npublic_url = \"https://cf.example/base/\"\n\
         tokens = [{{ name = \"ops\", role = \"operator\", {value} }},\n\
         {{ name = \"shop\", role = \"receipt\", {value} }}]"
    ));
    let read = read.unwrap();
    assert_eq!(read.receipt_url().as_deref(), Some("https://cf.example/base/v1/receipts"));
    assert_eq!((read.tokens[0].name(), read.tokens[0].role()), ("ops", Role::Operator));
    assert_eq!((read.tokens[1].name(), read.tokens[1].role()), ("shop", Role::Receipt));
}

#[test]
fn where_others_can_reach_it_tokens_are_needed() {
    for listen in ["0.0.0.0:0", "[::]:0", "10.0.0.1:7070", "[::ffff:10.0.0.1]:1"] {
        let refused = refused(&format!("listen = \"{listen}\""));
        assert!(refused.starts_with("[2] c.toml:2:"), "{refused}");
        assert!(refused.contains("others can reach"), "{refused}");
    }
    assert!(api("listen = \"127.0.0.2:7070\"").is_ok());
    assert!(api("listen = \"[::ffff:127.0.0.1]:1\"").is_ok());
}

#[test]
fn values_that_mean_nothing_are_refused_with_their_line() {
    let cases = [
        ("listen = \"7070\"", "ADDRESS:PORT"),
        ("listen = \"example.org:7070\"", "ADDRESS:PORT"),
        ("listen = 7070", "{ env = \"NAME\" }"),
        ("public_url = \"cf.example\"", "http://"),
        ("public_url = \"https://cf.example/?a=1\"", "a query or a fragment"),
        ("public_url = \"https://cf.example/#a\"", "a query or a fragment"),
        ("public_url = \"https://cf.example/订单\"", "percent-encode"),
        ("public_uri = \"https://cf.example\"", "unknown field `public_uri`"),
    ];
    for (lines, why) in cases {
        let parsed = super::Config::parse("c.toml".into(), format!("[api]\n{lines}\n"));
        let refused = match parsed {
            Ok(config) => config.api().err().unwrap().whole(),
            Err(failure) => failure.whole(),
        };
        assert!(refused.starts_with("[2] c.toml:2:"), "{refused}");
        assert!(refused.contains(why) && refused.contains('^'), "{refused}");
    }
    let secret = refused("public_url = \"https://me:hunter2@cf.example\"");
    assert!(secret.contains("holds credentials") && !secret.contains("hunter2"), "{secret}");
}

#[test]
fn a_token_has_a_name_a_role_and_a_value_from_elsewhere() {
    let (_folder, value) = secret("s3cret");
    let (_empty, empty) = secret("\n");
    let token = |rest: &str| refused(&format!("tokens = [{{ {rest} }}]"));
    assert!(token(&format!("role = \"read\", {value}")).contains("`name` is missing"));
    assert!(token(&format!("name = \"a\", {value}")).contains("`role` is missing"));
    assert!(token("name = \"a\", role = \"read\"").contains("`value` is missing"));
    assert!(token(&format!("name = \"a\", role = \"admin\", {value}")).contains("no such role"));
    assert!(token(&format!("name = \"a\", role = \"read\", {empty}")).contains("is empty"));
    let plain = token("name = \"a\", role = \"read\", value = \"hunter2\"");
    assert!(plain.contains("plain text") && plain.contains("{ env = \"NAME\" }"), "{plain}");
    assert!(!plain.contains("hunter2"), "{plain}");
    let rolled = "[api]\ntokens = [{ name = \"a\", roll = \"read\", value = \"hunter2\" }]\n";
    let rolled = super::Config::parse("c.toml".into(), rolled.into()).unwrap_err().whole();
    assert!(rolled.starts_with("[2] c.toml:2:") && rolled.contains("`roll`"), "{rolled}");
    assert!(!rolled.contains("hunter2"), "{rolled}");
    let unset = "name = \"a\", role = \"read\", value = { env = \"COUNTERFOIL_NO_SUCH\" }";
    assert!(token(unset).contains("COUNTERFOIL_NO_SUCH is not set"));
    let one = format!("{{ name = \"a\", role = \"read\", {value} }}");
    assert!(api(&format!("tokens = [{one}, {one}]")).is_ok(), "while a secret is changed");
    let other = format!("{{ name = \"a\", role = \"operator\", {value} }}");
    assert!(refused(&format!("tokens = [{one}, {other}]")).contains("another role"));
    let (_spaced, spaced) = secret("hunter 2");
    let spaced = token(&format!("name = \"a\", role = \"read\", {spaced}"));
    assert!(spaced.contains("ASCII") && !spaced.contains("hunter"), "{spaced}");
}
