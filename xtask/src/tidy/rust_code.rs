//! Blanks comments, strings and character literals of a Rust text, and reads its code in words.
//!
//! Guarantees: every line keeps its number, and every character its column.
//! Does not: parse; a rule that needs more than words and braces has no place in tidy.

/// The text with all but code replaced by spaces.
pub(crate) fn only_code(text: &str) -> String {
    let text: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let past = past_literal(&text, at);
        if past == at {
            code.push(text[at]);
            at += 1;
        } else {
            code.extend(text[at..past].iter().map(|&c| if c == '\n' { c } else { ' ' }));
            at = past;
        }
    }
    code
}

/// Where the comment or literal that begins at `at` ends; `at` itself if none begins there.
fn past_literal(text: &[char], at: usize) -> usize {
    let next = text.get(at + 1).copied();
    match text[at] {
        '/' if next == Some('/') => find(text, at, |c| c == '\n'),
        '/' if next == Some('*') => past_block_comment(text, at),
        '"' => past_string(text, at),
        'r' | 'b' | 'c' if !follows_word(text, at) => past_prefixed(text, at),
        '\'' => past_character(text, at),
        _ => at,
    }
}

fn follows_word(text: &[char], at: usize) -> bool {
    at > 0 && is_word(text[at - 1])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn find(text: &[char], from: usize, wanted: impl Fn(char) -> bool) -> usize {
    text[from..].iter().position(|&c| wanted(c)).map_or(text.len(), |n| from + n)
}

fn past_block_comment(text: &[char], from: usize) -> usize {
    let mut depth = 0_u32;
    let mut at = from;
    while at + 1 < text.len() {
        match (text[at], text[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth = depth.saturating_sub(1),
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn past_string(text: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// Literals with a prefix: `b"…"`, `c"…"`, `r"…"`, `r#"…"#`, `br#"…"#`, `b'…'`.
fn past_prefixed(text: &[char], from: usize) -> usize {
    let open = find(text, from, |c| !matches!(c, 'r' | 'b' | 'c'));
    let quote = find(text, open, |c| c != '#');
    let raw = text[from..open].contains(&'r');
    match text.get(quote) {
        _ if open - from > 2 => from,
        Some('"') if raw => past_raw(text, quote, quote - open),
        Some('"') if quote == open => past_string(text, quote),
        Some('\'') if text[from..open] == ['b'] && quote == open => past_character(text, quote),
        _ => from,
    }
}

fn past_raw(text: &[char], quote: usize, hashes: usize) -> usize {
    let mut at = quote + 1;
    while at < text.len() {
        let end = (at + 1 + hashes).min(text.len());
        if text[at] == '"' && text[at + 1..end].iter().filter(|&&c| c == '#').count() == hashes {
            return end;
        }
        at += 1;
    }
    text.len()
}

/// A character literal; a lifetime is none.
fn past_character(text: &[char], from: usize) -> usize {
    match (text.get(from + 1), text.get(from + 2)) {
        (Some('\\'), _) => (find(text, from + 3, |c| c == '\'') + 1).min(text.len()),
        (Some(_), Some('\'')) => from + 3,
        _ => from,
    }
}

/// One word or sign of code, with its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// The word; signs stand alone, only `::` is one.
    pub(crate) text: &'a str,
    /// Its line, from 1.
    pub(crate) line: usize,
}

/// All words and signs of code.
pub(crate) fn words(code: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    for (line, text) in (1..).zip(code.lines()) {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let end = match first {
                c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                c => c.len_utf8(),
            };
            words.push(Word { text: &rest[..end], line });
            rest = rest[end..].trim_start();
        }
    }
    words
}

/// Words of the code outside `#[cfg(test)] mod … { … }`.
pub(crate) fn words_without_tests(code: &str) -> Vec<Word<'_>> {
    const TEST_MODULE: [&str; 8] = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
    let all = words(code);
    let mut kept = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let begins = all[at..].iter().take(8).map(|word| word.text).eq(TEST_MODULE);
        let opens = all.get(at + 9).is_some_and(|word| word.text == "{");
        if begins && opens {
            at = past_block(&all, at + 9);
        } else {
            kept.push(all[at]);
            at += 1;
        }
    }
    kept
}

/// The index after the brace that closes the one at `open`.
pub(crate) fn past_block(words: &[Word<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (n, word) in words.iter().enumerate().skip(open) {
        match word.text {
            "{" => depth += 1,
            "}" if depth <= 1 => return n + 1,
            "}" => depth -= 1,
            _ => {}
        }
    }
    words.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_lines_stay() {
        let text = "a /* { /* x */ } */ b // {\nlet c = \"{\\\"\n}\"; d";
        assert_eq!(only_code(text).split_whitespace().collect::<String>(), "abletc=;d");
        assert_eq!(only_code(text).lines().count(), 3);
    }

    #[test]
    fn raw_strings_characters_and_lifetimes_are_told_apart() {
        for (text, left) in [
            (r####"r#"{ " }"# x"####, "x"),
            (r#"br"{" x"#, "x"),
            (r#"b"{\"" x"#, "x"),
            ("b'{' x", "x"),
            (r"'\'' '{' '\u{7b}' x", "x"),
            ("&'a str", "&'astr"),
            ("r#type x", "r#typex"),
            ("bar\"{\" x", "barx"),
        ] {
            assert_eq!(only_code(text).split_whitespace().collect::<String>(), left, "{text}");
        }
    }

    #[test]
    fn test_modules_are_left_out() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { } }\nfn c() {}";
        let kept: String = words_without_tests(code).iter().map(|word| word.text).collect();
        assert_eq!(kept, "fna(){}fnc(){}");
    }
}
