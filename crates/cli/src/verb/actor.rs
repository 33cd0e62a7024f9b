//! Who acts: the name that stands in the books beside an act.
//!
//! Guarantees: a name is always there. Does not: prove it; whoever can write the file can sign
//! with any name.

use crate::exit::Failure;

/// The longest name, in bytes.
const BYTES_MAX: usize = 255;

/// `given`, else the user of the operating system.
///
/// # Errors
/// The name is empty, too long, or holds control characters.
pub(super) fn actor(given: Option<String>) -> Result<String, Failure> {
    let Some(name) = given else { return Ok(of_system()) };
    if !(1..=BYTES_MAX).contains(&name.len()) || name.chars().any(char::is_control) {
        let text = "--actor: a name has 1 to 255 bytes and no control characters";
        return Err(Failure::could_not_run(text).help("write, for instance, --actor ana"));
    }
    Ok(name)
}

fn of_system() -> String {
    let variables = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
    let is_name =
        |name: &String| (1..=BYTES_MAX).contains(&name.len()) && !name.contains(char::is_control);
    variables.into_iter().find(is_name).unwrap_or_else(by_number)
}

/// Containers often have no names; on Linux a process owns its own folder of `/proc`.
fn by_number() -> String {
    use std::os::unix::fs::MetadataExt;
    let owner = std::fs::metadata("/proc/self").map(|folder| folder.uid());
    owner.map_or_else(|_| "somebody".to_owned(), |uid| format!("uid {uid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_always_there() {
        assert_eq!(actor(Some("ana".into())), Ok("ana".into()));
        assert!(!actor(None).unwrap().is_empty());
        assert!(!by_number().is_empty());
        for name in [String::new(), "a\nb".into(), "a".repeat(256)] {
            assert!(actor(Some(name)).unwrap_err().whole().starts_with("[2] --actor"));
        }
    }
}
