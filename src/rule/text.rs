//! A rule: CEL text that is true or false of a scope.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::{Context, Env, ExecutionError, Program, Value};

use super::kinds::{self, Pair};
use super::scope::Scope;

/// Longer rules are refused: one line of a campaign holds less.
const MAX_BYTES: usize = 1000;
/// The CEL parser recurses with frames of up to 100 kB: unoptimised on a stack of 2 MiB it aborted at
/// 16 nested brackets or 64 chained operators, before its own limit of 96 levels. An operator costs 1.
const MAX_COST: usize = 24;
const BRACKET_COST: usize = 3;
const TOO_DEEP: &str = "expected at most 8 nested brackets or 24 chained operators; split the rule";

/// Building the standard environment costs more than evaluating a rule.
static STANDARD: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A text that is no rule. `offset` is the byte in the text where reading stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a rule: {text}")]
pub struct RuleError {
    pub offset: usize,
    /// What was expected or found there.
    pub text: String,
}

/// A parsed rule; clones share it.
#[derive(Debug, Clone)]
pub struct Rule {
    parsed: Arc<Parsed>,
}

#[derive(Debug)]
struct Parsed {
    text: String,
    program: Program,
    names: BTreeSet<String>,
    pairs: Vec<Pair>,
}

impl Rule {
    /// Reads a rule such as `streams > 7 && rx == 'af_xdp'`.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        if text.trim().is_empty() {
            return Err(RuleError {
                offset: 0,
                text: "expected a condition like `streams > 7`, found nothing".into(),
            });
        }
        if text.len() > MAX_BYTES {
            return Err(RuleError {
                offset: 0,
                text: format!("expected at most {MAX_BYTES} bytes, found {}", text.len()),
            });
        }
        if let Some(offset) = too_deep(text) {
            return Err(RuleError { offset, text: TOO_DEEP.into() });
        }
        let program = STANDARD.compile(text).map_err(|errors| {
            let first = errors.errors.first();
            let offset = first.map_or(0, |error| byte_offset(text, error.pos));
            RuleError { offset, text: first.map_or_else(|| errors.to_string(), |error| plain(&error.msg)) }
        })?;
        let mut names = BTreeSet::new();
        collect_names(program.expression(), &mut Vec::new(), &mut names);
        let pairs = kinds::compared(program.expression());
        Ok(Rule { parsed: Arc::new(Parsed { text: text.to_owned(), program, names, pairs }) })
    }

    /// The rule as it was written.
    pub fn text(&self) -> &str {
        &self.parsed.text
    }

    /// The variables the rule refers to, `hosts` for `hosts.tx.cpu_count`.
    pub fn names(&self) -> &BTreeSet<String> {
        &self.parsed.names
    }

    /// Whether the rule holds. The error is a sentence without the rule's text: an unknown name or
    /// fact, a number compared with a text, a result that is neither true nor false.
    pub fn eval(&self, scope: &Scope) -> Result<bool, String> {
        kinds::check(&self.parsed.pairs, scope)?;
        let mut context = Context::with_env(Arc::clone(&STANDARD));
        for name in &self.parsed.names {
            if let Some(value) = scope.get(name) {
                context.add_variable_from_value(name.as_str(), value.clone());
            }
        }
        match self.parsed.program.execute(&context) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!("expected true or false, found {}", kinds::name(&other))),
            Err(error) => Err(sentence(&error)),
        }
    }
}

/// Where the open brackets, and the operators chained since `&&`, `||` or a comma, cost too much.
fn too_deep(text: &str) -> Option<usize> {
    let mut open = vec![0];
    let mut quote = None;
    for (offset, byte) in text.bytes().enumerate() {
        let innermost = open.len() - 1;
        match (byte, quote) {
            (b'\'' | b'"', None) => quote = Some(byte),
            (_, Some(end)) if byte == end => quote = None,
            (_, Some(_)) => {}
            (b'(' | b'[' | b'{', _) => open.push(BRACKET_COST),
            (b')' | b']' | b'}', _) if innermost > 0 => drop(open.pop()),
            (b'&' | b'|' | b',', _) => open[innermost] = open[innermost].min(BRACKET_COST),
            (b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'?', _) => open[innermost] += 1,
            _ => {}
        }
        if open.iter().sum::<usize>() > MAX_COST {
            return Some(offset);
        }
    }
    None
}

fn sentence(error: &ExecutionError) -> String {
    match error {
        ExecutionError::UndeclaredReference(name) => format!("`{name}` is not known"),
        ExecutionError::NoSuchKey(name) => format!("there is no `{name}`"),
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => format!(
            "{} {} {} cannot be calculated; write whole numbers or decimal numbers on both sides",
            kinds::name(left),
            operator.trim_matches('_'),
            kinds::name(right)
        ),
        other => other.to_string(),
    }
}

/// What the CEL parser says, without the names of its own grammar.
fn plain(message: &str) -> String {
    let message = message.trim_start_matches("Syntax error: ");
    let what = message.split(" expecting ").next().unwrap_or(message);
    let found = what.split_once("input ").map(|(_, found)| found.trim_matches('\''));
    match found {
        Some("<EOF>") => "expected more, found its end".into(),
        Some("and") => "expected `&&`, found `and`".into(),
        Some("or") => "expected `||`, found `or`".into(),
        Some(found) => format!("expected something else, found `{found}`"),
        None => what.to_owned(),
    }
}

/// CEL tells lines and columns from 1.
fn byte_offset(text: &str, (line, column): (isize, isize)) -> usize {
    let before = usize::try_from(line - 1).unwrap_or(0);
    let start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let rest = text.get(start..).unwrap_or("");
    let columns = usize::try_from(column - 1).unwrap_or(0);
    start + rest.char_indices().nth(columns).map_or(rest.len(), |(at, _)| at)
}

/// CEL's own list of references also holds the variables that macros bind.
fn collect_names(expression: &IdedExpr, bound: &mut Vec<String>, names: &mut BTreeSet<String>) {
    match &expression.expr {
        Expr::Ident(name) => {
            if !bound.contains(name) && !name.starts_with('@') {
                names.insert(name.clone());
            }
        }
        Expr::Call(call) => {
            call.target.iter().for_each(|target| collect_names(target, bound, names));
            call.args.iter().for_each(|argument| collect_names(argument, bound, names));
        }
        Expr::Comprehension(loops) => {
            collect_names(&loops.iter_range, bound, names);
            collect_names(&loops.accu_init, bound, names);
            let depth = bound.len();
            bound.extend([loops.iter_var.clone(), loops.accu_var.clone()]);
            bound.extend(loops.iter_var2.clone());
            for part in [&loops.loop_cond, &loops.loop_step, &loops.result] {
                collect_names(part, bound, names);
            }
            bound.truncate(depth);
        }
        Expr::List(list) => list.elements.iter().for_each(|element| collect_names(element, bound, names)),
        Expr::Select(select) => collect_names(&select.operand, bound, names),
        Expr::Map(map) => map.entries.iter().for_each(|entry| collect_entry(&entry.expr, bound, names)),
        Expr::Struct(made) => made.entries.iter().for_each(|entry| collect_entry(&entry.expr, bound, names)),
        Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn collect_entry(entry: &EntryExpr, bound: &mut Vec<String>, names: &mut BTreeSet<String>) {
    match entry {
        EntryExpr::StructField(field) => collect_names(&field.value, bound, names),
        EntryExpr::MapEntry(pair) => {
            collect_names(&pair.key, bound, names);
            collect_names(&pair.value, bound, names);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::level::{Level, Scalar};

    fn scope(levels: &[(&str, &str)]) -> Scope {
        let mut scope = Scope::new();
        for (name, text) in levels {
            scope.level(name, &Level::plain(*text).scalar());
        }
        scope
    }

    fn eval(rule: &str, levels: &[(&str, &str)]) -> Result<bool, String> {
        Rule::parse(rule).expect("a rule").eval(&scope(levels))
    }

    #[test]
    fn numbers_compare_as_numbers_and_texts_as_texts() {
        assert_eq!(eval("streams > 7", &[("streams", "10")]), Ok(true));
        assert_eq!(eval("streams > 7", &[("streams", "7")]), Ok(false));
        assert_eq!(eval("ratio >= 1", &[("ratio", "1.5")]), Ok(true));
        assert_eq!(eval("mode == 'zero'", &[("mode", "zero")]), Ok(true));
        assert_eq!(eval("nodes * tasks > 768", &[("nodes", "16"), ("tasks", "56")]), Ok(true));
        assert_eq!(eval("mode in ['copy', 'zero']", &[("mode", "native")]), Ok(false));
    }

    #[test]
    fn a_number_compared_with_a_text_is_an_error_and_not_false() {
        for rule in [
            "queues == '7'",
            "'7' != queues",
            "queues in [1, '7']",
            "queues == mode",
            "(queues == '7') || true",
        ] {
            let error = eval(rule, &[("queues", "7"), ("mode", "zero")]).expect_err(rule);
            assert!(error.contains("number") && error.contains("text"), "{rule}: {error}");
        }
        assert!(eval("mode < 7", &[("mode", "zero")]).is_err());
    }

    #[test]
    fn a_quoted_level_is_text_even_if_it_looks_like_a_number() {
        let mut scope = Scope::new();
        scope.level("queues", &Scalar::Text("7".into()));
        assert_eq!(Rule::parse("queues == '7'").unwrap().eval(&scope), Ok(true));
        assert!(Rule::parse("queues == 7").unwrap().eval(&scope).is_err());
    }

    #[test]
    fn host_facts_are_reached_by_their_path() {
        let mut scope = Scope::new();
        scope.value("hosts", &json!({"tx": {"cpu_count": 2, "kernel": "6.1", "big": u64::MAX}}));
        let holds = |rule: &str| Rule::parse(rule).unwrap().eval(&scope);
        assert_eq!(holds("hosts.tx.cpu_count >= 2"), Ok(true));
        assert_eq!(holds("hosts['tx'].cpu_count >= 2"), Ok(true));
        assert_eq!(holds("hosts.tx.kernel.startsWith('6.')"), Ok(true));
        assert_eq!(holds("has(hosts.rx)"), Ok(false));
        assert_eq!(holds("hosts.tx.big > 5.0"), Ok(true));
        assert!(holds("hosts.tx.kernel == 6").is_err());
        assert_eq!(holds("hosts.rx.cpu_count >= 2"), Err("there is no `rx`".into()));
    }

    #[test]
    fn names_are_top_level_and_without_variables_of_macros() {
        let rule = Rule::parse("hosts.tx.cores.all(c, c > limit) && [1, 2].exists(x, x == streams)").unwrap();
        assert_eq!(rule.names().iter().collect::<Vec<_>>(), ["hosts", "limit", "streams"]);
    }

    #[test]
    fn an_error_tells_where_in_the_text_it_is() {
        let error = Rule::parse("streams > ) 7").unwrap_err();
        assert_eq!(error.offset, 10, "{error}");
        assert_eq!(Rule::parse("  ").unwrap_err().offset, 0);
        for (text, found) in [
            ("streams >", "found its end"),
            ("streams > ) 7", "found `)`"),
            ("a b", "found `b`"),
            ("a > 1 and b > 1", "expected `&&`"),
            ("a > 1 or b > 1", "expected `||`"),
        ] {
            let told = Rule::parse(text).unwrap_err().to_string();
            assert!(told.contains(found) && !told.contains("NUM_INT") && !told.contains("EOF"), "{told}");
        }
    }

    #[test]
    fn rules_that_would_exhaust_the_stack_are_refused_and_long_ones_within_the_limit_work() {
        for deep in [
            "(".repeat(900),
            "[".repeat(900),
            format!("{}1", "-".repeat(900)),
            format!("{}true", "!".repeat(900)),
        ] {
            assert!(Rule::parse(&deep).is_err(), "{deep}");
        }
        assert!(Rule::parse(&"true || ".repeat(200)).is_err());
        let fits = [
            "1 == 1 && ".repeat(98) + "true",
            "1+".repeat(22) + "1 == 23",
            "(".repeat(8) + "true" + &")".repeat(8),
        ];
        for chain in fits {
            assert_eq!(Rule::parse(&chain).map(|rule| rule.eval(&Scope::new())), Ok(Ok(true)), "{chain}");
        }
        // Whatever comes of these, it is an answer and not an abort.
        let all = |n: usize| "[1].all(x, 1+1+1+1 == 4 && ".repeat(n) + "true" + &")".repeat(n);
        for odd in
            ["a.".repeat(490) + "a", "a?b:".repeat(20) + "c", "a[".repeat(8) + "1" + &"]".repeat(8), all(4)]
        {
            let _ = Rule::parse(&odd).map(|rule| rule.eval(&Scope::new()));
        }
    }

    #[test]
    fn what_is_neither_true_nor_false_is_an_error() {
        assert_eq!(
            eval("streams + 1", &[("streams", "7")]),
            Err("expected true or false, found a number".into())
        );
        assert_eq!(eval("streems > 1", &[]), Err("`streems` is not known".into()));
        assert!(eval("streams % 0 == 1", &[("streams", "7")]).is_err());
        assert!(eval("streams * 1.5 > 3.0", &[("streams", "7")]).unwrap_err().contains("decimal"));
    }

    #[test]
    fn rules_may_be_shared_between_threads() {
        fn shared<T: Send + Sync + Clone>() {}
        shared::<Rule>();
        shared::<Scope>();
    }
}
