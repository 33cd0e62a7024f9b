//! Which headers carry credentials, so that their values may not stand in the file.
//!
//! Guarantees: the usual names, and names that end like them. Does not: know every service's own.

/// Header names whose values are credentials, in lower case; and endings of such names.
const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-api-key"];
const CREDENTIAL_ENDINGS: [&str; 5] = ["-key", "-token", "-secret", "-password", "-auth"];

/// Whether the value of this header is a credential.
pub(super) fn is_credential(header: &str) -> bool {
    let name = header.to_ascii_lowercase();
    CREDENTIALS.contains(&name.as_str())
        || CREDENTIAL_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a line that was not understood may hold a credential, so that it must not be shown:
/// what a misspelt key says is nobody's business.
pub(super) fn may_hold_one(line: &str) -> bool {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
    let is_secret = |word: &str| {
        matches!(word, "value" | "secret" | "secrets" | "token" | "tokens" | "password")
            || is_credential(word)
    };
    words.into_iter().any(is_secret) || (line.contains("://") && line.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_may_hold_a_credential_is_known_by_its_words() {
        for line in [
            "tokens = [{ name = \"ops\", rol = \"read\", value = \"hunter2\" }]",
            "secret = \"whsec_hunter2\"",
            "header = { Authorization = \"Bearer hunter2\" }",
            "urll = \"http://me:hunter2@a/\"",
        ] {
            assert!(may_hold_one(line), "{line}");
        }
        for line in ["ratee = \"200/s\"", "url = \"http://a/\"", "key = { form = \"hex\" }"] {
            assert!(!may_hold_one(line), "{line}");
        }
    }

    #[test]
    fn the_usual_names_are_credentials_and_plain_ones_are_not() {
        for name in ["Authorization", "COOKIE", "X-Api-Key", "X-Shop-Token", "PRIVATE-AUTH"] {
            assert!(is_credential(name), "{name}");
        }
        for name in ["X-Shop", "Accept", "User-Agent", "Monkey"] {
            assert!(!is_credential(name), "{name}");
        }
    }
}
