//! A level: one value of a variable, kept as the user typed it.

use serde::{Deserialize, Serialize};

/// One value of a variable or setting. `text` is what the user typed and is what ids, labels and
/// argument lists show, so `1.10` stays apart from `1.1` and `on` is never a boolean.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Level {
    pub text: String,
    /// Quoted in the file: always text, whatever it looks like.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quoted: bool,
}

/// What a rule sees of a level.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    Int(i64),
    Float(f64),
    Text(String),
}

impl Level {
    pub fn plain(text: impl Into<String>) -> Level {
        Level { text: text.into(), quoted: false }
    }

    /// Number by YAML 1.2 core rules for plain decimal spellings, else text.
    pub fn scalar(&self) -> Scalar {
        let text = self.text.as_str();
        let number_like = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+' || c == '.');
        if self.quoted || !number_like {
            return Scalar::Text(text.to_owned());
        }
        if let Ok(int) = text.parse::<i64>() {
            return Scalar::Int(int);
        }
        match text.parse::<f64>() {
            Ok(float) if float.is_finite() => Scalar::Float(float),
            _ => Scalar::Text(text.to_owned()),
        }
    }
}
