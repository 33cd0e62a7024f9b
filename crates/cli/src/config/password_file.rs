//! The password file of PostgreSQL's own programs: `PGPASSFILE`, else `~/.pgpass`.
//!
//! Guarantees: read as libpq reads it: the first line that fits, `*` fits all, `\` escapes; a file
//! that others can read is not used, and that is said. Does not: complain of a file that is not
//! there.

use std::path::{Path, PathBuf};

/// The variable that names the file.
const VARIABLE: &str = "PGPASSFILE";

/// For whom a password is asked.
pub(super) struct Asked<'a> {
    /// The host, as the URL names it.
    pub(super) host: String,
    /// Its port.
    pub(super) port: u16,
    /// The database.
    pub(super) database: &'a str,
    /// The user.
    pub(super) user: &'a str,
}

/// The password that the file has for them.
pub(super) fn password(asked: &Asked<'_>) -> Option<String> {
    let path = path()?;
    let found = std::fs::metadata(&path).ok()?;
    if let Some(why) = unusable(&found) {
        tracing::warn!("the password file {} is not used: {why}", path.display());
        return None;
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| tracing::warn!("the password file {}: {error}", path.display()));
    find(&text.ok()?, asked)
}

fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || set("HOME").map(|home| Path::new(&home).join(".pgpass"));
    set(VARIABLE).map(PathBuf::from).or_else(home)
}

fn unusable(found: &std::fs::Metadata) -> Option<&'static str> {
    if !found.is_file() {
        return Some("it is no plain file");
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o077 != 0 {
        return Some("others can read it: chmod 600");
    }
    None
}

fn find(text: &str, asked: &Asked<'_>) -> Option<String> {
    let port = asked.port.to_string();
    let wanted = [asked.host.as_str(), port.as_str(), asked.database, asked.user];
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fitting = lines.map(fields).find(|fields| {
        let fits = |(field, wanted): (&Field, &&str)| field.is_any || field.text == **wanted;
        fields.len() > wanted.len() && fields.iter().zip(&wanted).all(fits)
    });
    let password = fitting?.into_iter().nth(wanted.len())?.text;
    (!password.is_empty()).then_some(password)
}

/// One field of a line.
#[derive(Default)]
struct Field {
    text: String,
    /// A `*` that is not escaped.
    is_any: bool,
}

fn fields(line: &str) -> Vec<Field> {
    let (mut all, mut field, mut raw) = (Vec::new(), String::new(), String::new());
    let mut rest = line.chars();
    let mut next = |field: &mut String, raw: &mut String| {
        let is_any = std::mem::take(raw) == "*";
        all.push(Field { text: std::mem::take(field), is_any });
    };
    while let Some(c) = rest.next() {
        match c {
            ':' => next(&mut field, &mut raw),
            '\\' => {
                raw.push('\\');
                field.extend(rest.next());
            }
            c => {
                raw.push(c);
                field.push(c);
            }
        }
    }
    next(&mut field, &mut raw);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked<'a>(host: &str, user: &'a str) -> Asked<'a> {
        Asked { host: host.into(), port: 5432, database: "shop", user }
    }

    #[test]
    fn the_first_line_that_fits_gives_the_password() {
        let text = "# db:5432:shop:me:comment\n\
                    db:5433:shop:me:port\n\
                    db:5432:other:me:database\n\
                    db:*:shop:me:s3\\:cr\\\\et\n\
                    *:*:*:*:all\n";
        assert_eq!(find(text, &asked("db", "me")).as_deref(), Some("s3:cr\\et"));
        assert_eq!(find(text, &asked("db", "you")).as_deref(), Some("all"));
        assert_eq!(find("db:5432:shop:me", &asked("db", "me")), None, "no fifth field");
        assert_eq!(find("db:5432:shop:me:", &asked("db", "me")), None, "an empty one");
        assert_eq!(find("\\*:*:*:*:x", &asked("db", "me")), None, "an escaped star is a star");
        assert_eq!(find("a\\:b:*:*:*:x", &asked("a:b", "me")).as_deref(), Some("x"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pgpass");
        std::fs::write(&path, "").unwrap();
        for (mode, used) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let found = std::fs::metadata(&path).unwrap();
            assert_eq!(unusable(&found).is_none(), used, "{mode:o}");
        }
        assert!(unusable(&std::fs::metadata(dir.path()).unwrap()).is_some());
    }
}
