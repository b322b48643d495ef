//! A condition on one fact in plain words: `governor == performance`, `kernel >= 6.8`, `rx_filter can be all`.

use std::cmp::Ordering;

use serde_json::Value;

use crate::model::facts::KNOWN;
use crate::model::size;

/// A fact, a comparison, and a bare word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub fact: String,
    test: Test,
    word: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    Is,
    IsNot,
    AtLeast,
    AtMost,
    Above,
    Below,
    /// The fact is told as something that the host can have: among `…_can`, or up to `…_max`.
    CanBe,
}

const TESTS: [(&str, Test); 6] = [
    ("==", Test::Is),
    ("!=", Test::IsNot),
    (">=", Test::AtLeast),
    ("<=", Test::AtMost),
    (">", Test::Above),
    ("<", Test::Below),
];

impl Condition {
    /// None where the text is not of this form; then it may be a rule of CEL. A word that is itself the
    /// name of a fact is left to CEL as well.
    pub fn parse(text: &str) -> Option<Condition> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (fact, test, word) = match words[..] {
            [fact, word @ ("on" | "off")] => (fact, Test::Is, word),
            [fact, "can", "be", word] => (fact, Test::CanBe, word),
            [fact, sign, word] => (fact, TESTS.iter().find(|(name, _)| *name == sign)?.1, word),
            _ => return None,
        };
        let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        let fits = is_name(fact) && fact.starts_with(|c: char| c.is_ascii_alphabetic());
        let fits = fits && is_word(word) && !KNOWN.contains(&word);
        fits.then(|| Condition { fact: fact.to_owned(), test, word: word.to_owned() })
    }

    /// Whether it holds; `fact` gives the value of a fact by name.
    ///
    /// # Errors
    /// A sentence: the fact is not told, or cannot be compared with the word.
    pub fn eval<'a>(&self, fact: &dyn Fn(&str) -> Option<&'a Value>) -> Result<bool, String> {
        let untold = || format!("the host does not tell its {}", self.fact);
        if self.test == Test::CanBe {
            return self.can_be(fact).ok_or_else(untold);
        }
        let found = fact(&self.fact).filter(|value| !value.is_null()).ok_or_else(untold)?;
        if let Test::Is | Test::IsNot = self.test {
            return Ok(is(found, &self.word) == (self.test == Test::Is));
        }
        let order = compare(found, &self.word).ok_or_else(|| {
            format!("{} is {}, which is neither more nor less than {}", self.fact, shown(found), self.word)
        })?;
        Ok(match self.test {
            Test::AtLeast => order != Ordering::Less,
            Test::AtMost => order != Ordering::Greater,
            Test::Above => order == Ordering::Greater,
            _ => order == Ordering::Less,
        })
    }

    /// What was found, for a condition that does not hold.
    pub fn found<'a>(&self, fact: &dyn Fn(&str) -> Option<&'a Value>) -> String {
        let now = fact(&self.fact).map_or("unknown".to_owned(), shown);
        let now = format!("{} is {now}", self.fact);
        if self.test != Test::CanBe {
            return now;
        }
        let list = fact(&format!("{}_can", self.fact)).and_then(Value::as_array);
        match (list, fact(&format!("{}_max", self.fact))) {
            (Some(list), _) if list.is_empty() => format!("{} can be nothing here", self.fact),
            (Some(list), _) => {
                let list: Vec<String> = list.iter().map(shown).collect();
                format!("{} can be {}", self.fact, list.join(", "))
            }
            (None, Some(most)) => format!("{} can be at most {}", self.fact, shown(most)),
            (None, None) => now,
        }
    }

    fn can_be<'a>(&self, fact: &dyn Fn(&str) -> Option<&'a Value>) -> Option<bool> {
        if let Some(list) = fact(&format!("{}_can", self.fact)).and_then(Value::as_array) {
            return Some(list.iter().any(|value| is(value, &self.word)));
        }
        let most = fact(&format!("{}_max", self.fact)).and_then(Value::as_f64);
        match (most, self.word.parse::<f64>()) {
            (Some(most), Ok(wanted)) => Some(wanted <= most),
            _ => fact(&self.fact).map(|value| is(value, &self.word)),
        }
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn is(found: &Value, word: &str) -> bool {
    match (found, word) {
        (Value::Bool(flag), "on") => *flag,
        (Value::Bool(flag), "off") => !*flag,
        (Value::Number(_), _) => compare(found, word) == Some(Ordering::Equal),
        _ => shown(found) == word,
    }
}

/// Numbers as numbers, and texts that begin with numbers as versions: 6.18.4-rc1 is more than 6.8.
fn compare(found: &Value, word: &str) -> Option<Ordering> {
    if let (Some(found), Some(wanted)) = (found.as_f64(), number(word)) {
        return found.partial_cmp(&wanted);
    }
    let (found, wanted) = (version(found.as_str()?)?, version(word)?);
    let part = |parts: &[u64], at: usize| parts.get(at).copied().unwrap_or(0);
    let parts = 0..found.len().max(wanted.len());
    parts
        .map(|at| part(&found, at).cmp(&part(&wanted, at)))
        .find(|order| order.is_ne())
        .or(Some(Ordering::Equal))
}

/// A plain number, or a size with its unit.
fn number(word: &str) -> Option<f64> {
    word.parse().ok().or_else(|| size::bytes(word).map(|bytes| bytes as f64))
}

/// The numbers between dots that a text begins with.
fn version(text: &str) -> Option<Vec<u64>> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let numbers: Vec<u64> = text[..end].split('.').map_while(|part| part.parse().ok()).collect();
    (!numbers.is_empty()).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(text: &str) -> Result<bool, String> {
        let facts = json!({
            "kernel": "6.18.44-fc-v669", "governor": "powersave", "turbo": true, "cpu_count": 2, "memory": 1_048_576, "load_1m": 0.5,
            "ntuple": "on", "driver": "ice", "rx_filter": "none", "rx_filter_can": ["none", "all"], "rings_max": 4096,
            "firmware": "4.40 0x8001c7d4 1.3534.0", "nothing": null
        });
        let condition = Condition::parse(text).unwrap_or_else(|| panic!("no condition: {text}"));
        condition.eval(&|name| facts.get(name))
    }

    #[test]
    fn versions_compare_by_their_numbers_and_not_by_their_letters() {
        for text in [
            "kernel >= 6.8",
            "kernel > 6.8",
            "kernel >= 6.18.44",
            "kernel < 6.100",
            "kernel <= 7",
            "firmware >= 4.9",
        ] {
            assert_eq!(holds(text), Ok(true), "{text}");
        }
        for text in ["kernel < 6.8", "kernel >= 6.18.45", "kernel <= 6.18", "kernel > 10", "firmware >= 4.41"]
        {
            assert_eq!(holds(text), Ok(false), "{text}");
        }
    }

    #[test]
    fn words_switches_and_numbers_are_compared_as_what_they_are() {
        let good = [
            "governor == powersave",
            "governor != performance",
            "turbo on",
            "turbo == true",
            "ntuple on",
            "driver == ice",
            "cpu_count == 2",
            "cpu_count >= 2",
            "memory <= 1MiB",
            "memory > 1MB",
            "load_1m < 1",
            "rx_filter can be all",
            "rings can be 4096",
        ];
        for text in good {
            assert_eq!(holds(text), Ok(true), "{text}");
        }
        let bad = [
            "governor == performance",
            "turbo off",
            "ntuple off",
            "cpu_count > 2",
            "memory < 1MiB",
            "rx_filter can be some",
            "rings can be 8192",
        ];
        for text in bad {
            assert_eq!(holds(text), Ok(false), "{text}");
        }
        for text in ["speed_mbps >= 10000", "nothing == 1", "fec can be rs"] {
            assert!(holds(text).unwrap_err().contains("does not tell"), "{text}");
        }
        assert!(holds("governor >= 5").unwrap_err().contains("neither more nor less"));
    }

    #[test]
    fn what_is_no_plain_condition_is_left_to_cel() {
        for text in [
            "cpu_count >= 2 && turbo",
            "kernel.startsWith('6')",
            "freq_max_khz == freq_min_khz",
            "a == 'b'",
            "",
            "x",
        ] {
            assert_eq!(Condition::parse(text), None, "{text}");
        }
    }
}
