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

#[cfg(test)]
mod tests {
    use super::*;

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
