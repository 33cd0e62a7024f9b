//! Each `sslmode` against a server with certificates of our own authority.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use counterfoil_postgres::{Options, PostgresStore};
use tempfile::TempDir;

use crate::private::{PrivateServer, give_away};

/// What a test may say after `sslmode=`, and whether it gets in.
type Cases<'a> = &'a [(&'a str, bool)];

fn openssl(folder: &Path, words: &str) {
    let said = Command::new("openssl").args(words.split(' ')).current_dir(folder).output().unwrap();
    assert!(said.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&said.stderr));
}

/// An authority, a certificate of it for `localhost`, one for another host, and one of a stranger.
fn certificates() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for name in ["ca", "stranger"] {
        let words =
            "req -x509 -newkey rsa:2048 -nodes -days 9 -addext keyUsage=critical,keyCertSign";
        openssl(at, &format!("{words} -subj /CN={name} -keyout {name}.key -out {name}.crt"));
    }
    for (name, host) in [("here", "localhost"), ("elsewhere", "db.example"), ("me", "me")] {
        let words = format!("req -newkey rsa:2048 -nodes -subj /CN={host} -keyout {name}.key");
        openssl(at, &format!("{words} -out {name}.csr"));
        fs::write(at.join("names"), format!("subjectAltName=DNS:{host}\n")).unwrap();
        let words = "x509 -req -days 9 -CA ca.crt -CAkey ca.key -CAcreateserial -extfile names";
        openssl(at, &format!("{words} -in {name}.csr -out {name}.crt"));
    }
    folder
}

/// A server that shows the certificate `name`, and asks clients for what `authority` has signed.
fn server(files: &TempDir, name: &str, authority: Option<&str>) -> (PrivateServer, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for end in ["crt", "key"] {
        let to = folder.path().join(format!("server.{end}"));
        fs::copy(files.path().join(format!("{name}.{end}")), &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
        give_away(&to);
    }
    if let Some(authority) = authority {
        let to = folder.path().join("clients.crt");
        fs::copy(files.path().join(format!("{authority}.crt")), &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o644)).unwrap();
    }
    give_away(folder.path());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (crt, key, clients) = (at("server.crt"), at("server.key"), at("clients.crt"));
    let mut settings = vec![("ssl", "on"), ("ssl_cert_file", &crt), ("ssl_key_file", &key)];
    if authority.is_some() {
        settings.push(("ssl_ca_file", &clients));
    }
    let server = PrivateServer::start(&settings);
    (server, folder)
}

/// Whether a store opens there, and how its connections are encrypted; else why not.
async fn open(server: &PrivateServer, host: &str, words: &str) -> Result<bool, String> {
    let url = format!("postgres://postgres@{host}:{}/postgres?sslmode={words}", server.port());
    let opened = PostgresStore::init(&url, Options::default(), None).await;
    // Open while it is looked at.
    let _store = opened.map_err(|error| error.to_string())?;
    let plain = crate::server::connect_to(&server.url()).await;
    let sql = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
               WHERE application_name = 'counterfoil' ORDER BY backend_start DESC LIMIT 1";
    Ok(plain.query_one(sql, &[]).await.unwrap().get(0))
}

async fn check(server: &PrivateServer, files: &TempDir, cases: Cases<'_>) {
    for (words, gets_in) in cases {
        let words = words.replace("AT", files.path().to_str().unwrap());
        match open(server, "localhost", &words).await {
            Ok(is_encrypted) => {
                assert!(gets_in, "{words} got in");
                assert_eq!(is_encrypted, !words.starts_with("disable"), "{words}");
            }
            Err(why) => assert!(!gets_in, "{words} did not get in: {why}"),
        }
    }
}

#[tokio::test]
async fn each_mode_gets_in_where_it_may() {
    let files = certificates();
    let (here, _folder) = server(&files, "here", None);
    let cases = [
        ("disable", true),
        ("prefer", true),
        ("require", true),
        ("require&sslrootcert=AT/ca.crt", true),
        ("require&sslrootcert=AT/stranger.crt", false),
        ("verify-ca&sslrootcert=AT/ca.crt", true),
        ("verify-ca&sslrootcert=AT/stranger.crt", false),
        ("verify-full&sslrootcert=AT/ca.crt", true),
        ("verify-full&sslrootcert=AT/stranger.crt", false),
        // This machine does not know our authority.
        ("verify-full", false),
        ("verify-full&sslrootcert=system", false),
        ("verify-full&sslrootcert=AT/none.crt", false),
        ("prefer&sslrootcert=AT/ca.crt", false),
    ];
    check(&here, &files, &cases).await;
    // By a name that its certificate does not say.
    let by_number = format!("verify-full&sslrootcert={}/ca.crt", files.path().display());
    let why = open(&here, "127.0.0.1", &by_number).await.unwrap_err();
    assert!(why.contains("not valid for name"), "{why}");
    let by_number = by_number.replace("verify-full", "verify-ca");
    assert_eq!(open(&here, "127.0.0.1", &by_number).await, Ok(true));
}

#[tokio::test]
async fn a_certificate_for_another_host_is_one_of_its_authority() {
    let files = certificates();
    let (elsewhere, _folder) = server(&files, "elsewhere", None);
    let cases = [
        ("prefer", true),
        ("require", true),
        ("verify-ca&sslrootcert=AT/ca.crt", true),
        ("verify-full&sslrootcert=AT/ca.crt", false),
        // The server's own certificate, named in place of its authority's.
        ("verify-ca&sslrootcert=AT/elsewhere.crt", true),
        ("verify-full&sslrootcert=AT/elsewhere.crt", false),
    ];
    check(&elsewhere, &files, &cases).await;
}

#[tokio::test]
async fn prefer_goes_without_where_the_server_cannot_and_require_does_not() {
    let plain = PrivateServer::start(&[("ssl", "off")]);
    assert_eq!(open(&plain, "127.0.0.1", "prefer").await, Ok(false));
    for words in ["require", "verify-full"] {
        let why = open(&plain, "127.0.0.1", words).await.unwrap_err();
        assert!(why.contains("TLS") || why.contains("root certificates"), "{words}: {why}");
    }
}

#[tokio::test]
async fn a_client_shows_its_certificate() {
    let files = certificates();
    let (mut here, _folder) = server(&files, "here", Some("ca"));
    let hba: PathBuf = here.folder().join("data/pg_hba.conf");
    let rules = "hostssl all all all trust clientcert=verify-ca\nhostnossl all all all trust\n";
    fs::write(&hba, rules).unwrap();
    here.stop(crate::private::Stop::Fast);
    here.go_on();
    let cases = [
        ("require", false),
        ("require&sslcert=AT/me.crt&sslkey=AT/me.key", true),
        ("verify-full&sslrootcert=AT/ca.crt&sslcert=AT/me.crt&sslkey=AT/me.key", true),
        // Signed by somebody else.
        ("require&sslcert=AT/stranger.crt&sslkey=AT/stranger.key", false),
        // Not its key, and no key.
        ("require&sslcert=AT/me.crt&sslkey=AT/here.key", false),
        ("require&sslcert=AT/me.crt", false),
        ("require&sslkey=AT/me.key", false),
    ];
    check(&here, &files, &cases).await;
}
