//! Equalities between values of two kinds, which CEL would quietly call false.

use cel::Value;
use cel::common::ast::operators::{EQUALS, IN, NOT_EQUALS};
use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};
use cel::objects::Key;

use super::scope::Scope;

/// Two sides of one comparison.
pub(super) type Pair = (Side, Side);

/// A side whose kind can be told without evaluating the rule.
#[derive(Debug, Clone)]
pub(super) enum Side {
    /// `hosts.tx.kernel` as its parts.
    Path(Vec<String>),
    Known(Kind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Text,
    Flag,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Number => "a number",
            Kind::Text => "a text",
            Kind::Flag => "true or false",
        }
    }
}

/// What a value is, for texts.
pub(super) fn name(value: &Value) -> &'static str {
    match kind(value) {
        Some(kind) => kind.name(),
        None if matches!(value, Value::List(_)) => "a list",
        None if matches!(value, Value::Map(_)) => "a group of facts",
        None => "nothing",
    }
}

/// Fails when two sides of an equality are of different kinds.
pub(super) fn check(pairs: &[Pair], scope: &Scope) -> Result<(), String> {
    for (left, right) in pairs {
        let (Some(a), Some(b)) = (side_kind(left, scope), side_kind(right, scope)) else { continue };
        if a != b {
            let (left, right) = (shown(left, a), shown(right, b));
            return Err(format!(
                "{left} is compared with {right}, so they would never be equal; quote both or none"
            ));
        }
    }
    Ok(())
}

fn shown(side: &Side, kind: Kind) -> String {
    match side {
        Side::Path(parts) => format!("`{}` ({})", parts.join("."), kind.name()),
        Side::Known(_) => kind.name().to_owned(),
    }
}

fn side_kind(side: &Side, scope: &Scope) -> Option<Kind> {
    let parts = match side {
        Side::Known(kind) => return Some(*kind),
        Side::Path(parts) => parts,
    };
    let mut value = scope.get(parts.first()?)?;
    for part in &parts[1..] {
        let Value::Map(map) = value else { return None };
        value = map.map.get(&Key::from(part.as_str()))?;
    }
    kind(value)
}

fn kind(value: &Value) -> Option<Kind> {
    match value {
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => Some(Kind::Number),
        Value::String(_) => Some(Kind::Text),
        Value::Bool(_) => Some(Kind::Flag),
        _ => None,
    }
}

/// Every equality of the rule whose sides can be looked up.
pub(super) fn compared(expression: &IdedExpr) -> Vec<Pair> {
    let mut pairs = Vec::new();
    collect(expression, &mut pairs);
    pairs
}

fn collect(expression: &IdedExpr, pairs: &mut Vec<Pair>) {
    match &expression.expr {
        Expr::Call(call) => {
            if let (EQUALS | NOT_EQUALS, [left, right]) = (call.func_name.as_str(), call.args.as_slice()) {
                pairs.extend(side(left).zip(side(right)));
            }
            if let (IN, [left, right]) = (call.func_name.as_str(), call.args.as_slice())
                && let Expr::List(list) = &right.expr
            {
                pairs.extend(list.elements.iter().filter_map(|element| side(left).zip(side(element))));
            }
            call.target.iter().for_each(|target| collect(target, pairs));
            call.args.iter().for_each(|argument| collect(argument, pairs));
        }
        Expr::Comprehension(loops) => {
            // What a macro's step compares may be its own variable, which no scope knows.
            collect(&loops.iter_range, pairs);
        }
        Expr::List(list) => list.elements.iter().for_each(|element| collect(element, pairs)),
        Expr::Select(select) => collect(&select.operand, pairs),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(pair) = &entry.expr {
                    collect(&pair.value, pairs);
                }
            }
        }
        _ => {}
    }
}

fn side(expression: &IdedExpr) -> Option<Side> {
    match &expression.expr {
        Expr::Literal(LiteralValue::Int(_) | LiteralValue::Double(_) | LiteralValue::UInt(_)) => {
            Some(Side::Known(Kind::Number))
        }
        Expr::Literal(LiteralValue::String(_)) => Some(Side::Known(Kind::Text)),
        Expr::Literal(LiteralValue::Boolean(_)) => Some(Side::Known(Kind::Flag)),
        _ => path(expression).map(Side::Path),
    }
}

fn path(expression: &IdedExpr) -> Option<Vec<String>> {
    match &expression.expr {
        Expr::Ident(name) => Some(vec![name.clone()]),
        Expr::Select(select) if !select.test => {
            let mut parts = path(&select.operand)?;
            parts.push(select.field.clone());
            Some(parts)
        }
        _ => None,
    }
}
