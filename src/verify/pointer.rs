//! JSON pointers in which `*` stands for every element.

use serde_json::Value;

/// Everything a pointer leads to, in the order of the document.
pub fn all<'a>(document: &'a Value, pointer: &str) -> Vec<&'a Value> {
    let mut found = vec![document];
    for token in tokens(pointer) {
        found = found.into_iter().flat_map(|value| children(value, &token)).collect();
    }
    found
}

/// Changes everything a pointer leads to; what `change` makes None is taken out. Returns how many there were.
pub fn change(
    document: &mut Value,
    pointer: &str,
    change: &mut dyn FnMut(&str, Value) -> Option<Value>,
) -> usize {
    let tokens: Vec<String> = tokens(pointer).collect();
    inner(document, &tokens, String::new(), change)
}

fn inner(
    value: &mut Value,
    tokens: &[String],
    path: String,
    change: &mut dyn FnMut(&str, Value) -> Option<Value>,
) -> usize {
    let Some((token, rest)) = tokens.split_first() else { return 0 };
    let mut changed = 0;
    let mut places: Vec<String> = keys(value, token);
    // From the end, so that taking out moves nothing that is still to come.
    places.reverse();
    for key in places {
        let path = format!("{path}/{key}");
        let Some(child) = child_mut(value, &key) else { continue };
        if !rest.is_empty() {
            changed += inner(child, rest, path, change);
            continue;
        }
        changed += 1;
        match change(&path, child.take()) {
            Some(new) => *child = new,
            None => take_out(value, &key),
        }
    }
    changed
}

fn take_out(value: &mut Value, key: &str) {
    match value {
        Value::Object(object) => drop(object.remove(key)),
        Value::Array(list) => {
            if let Ok(at) = key.parse::<usize>() {
                list.remove(at);
            }
        }
        _ => {}
    }
}

fn keys(value: &Value, token: &str) -> Vec<String> {
    match (value, token) {
        (Value::Array(list), "*") => (0..list.len()).map(|at| at.to_string()).collect(),
        (Value::Object(object), "*") => object.keys().cloned().collect(),
        (Value::Object(object), key) if object.contains_key(key) => vec![key.to_owned()],
        (Value::Array(list), at) if at.parse::<usize>().is_ok_and(|at| at < list.len()) => {
            vec![at.to_owned()]
        }
        _ => vec![],
    }
}

fn children<'a>(value: &'a Value, token: &str) -> Vec<&'a Value> {
    let child = |key: &String| match value {
        Value::Object(object) => object.get(key),
        Value::Array(list) => key.parse::<usize>().ok().and_then(|at| list.get(at)),
        _ => None,
    };
    keys(value, token).iter().filter_map(child).collect()
}

fn child_mut<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(object) => object.get_mut(key),
        Value::Array(list) => key.parse::<usize>().ok().and_then(|at| list.get_mut(at)),
        _ => None,
    }
}

fn tokens(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_leads_to_one_place_and_a_star_to_every_element() {
        let document = json!({"end": {"a/b": 1}, "runs": [{"ms": 3}, {"ms": 4}, {}]});
        assert_eq!(all(&document, "/end/a~1b"), [&json!(1)]);
        assert_eq!(all(&document, "/runs/*/ms"), [&json!(3), &json!(4)]);
        assert_eq!(all(&document, "/runs/1/ms"), [&json!(4)]);
        assert!(all(&document, "/runs/7/ms").is_empty());
        let mut document = json!({"runs": [{"ms": 3, "n": 1}, {"ms": 4, "n": 2}]});
        assert_eq!(change(&mut document, "/runs/*/ms", &mut |_, _| None), 2);
        assert_eq!(document, json!({"runs": [{"n": 1}, {"n": 2}]}));
        assert_eq!(change(&mut document, "/runs/*", &mut |_, _| None), 2);
        assert_eq!(document, json!({"runs": []}));
    }
}
