//! A table of typed columns, read from text with every complaint about it.

use std::collections::{BTreeSet, HashMap};

use super::question::Question;

/// Something in the data that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Line in the file, from 1; None where it concerns the whole.
    pub line: Option<u64>,
    /// Place of the field in its line, from 1.
    pub field: Option<usize>,
    pub message: String,
    /// The next step; may be empty.
    pub help: String,
}

impl Complaint {
    /// About the whole.
    pub fn whole(message: String, help: &str) -> Complaint {
        Complaint { line: None, field: None, message, help: help.to_owned() }
    }
}

/// Columns that were asked for, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub rows: usize,
    /// Columns of names by their own name.
    pub labels: HashMap<String, Labels>,
    /// Columns of numbers by their name.
    pub numbers: HashMap<String, Vec<Entry>>,
    /// Columns that nothing was asked about.
    pub unused: Vec<String>,
}

/// A column of names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labels {
    /// Each row's place in `names`.
    pub codes: Vec<u32>,
    /// Without repetition; by value where all are numbers, else by their characters.
    pub names: Vec<String>,
}

/// A field of a column of numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    Number(f64),
    /// Written as `>10`.
    Above(f64),
    /// Written as `<10`.
    Below(f64),
    /// A word for no value, as it is written; may be empty.
    Nothing(Box<str>),
}

/// What people write where there is no value.
const NOTHING: [&str; 10] = ["", "na", "n/a", "nan", "-nan", "null", "none", "inf", "-inf", "-"];

impl Entry {
    fn of(text: &str) -> Option<Entry> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|v| v.is_finite());
        if let Some(value) = number(text) {
            return Some(Entry::Number(value));
        }
        if let Some(rest) = text.strip_prefix('>') {
            return number(rest.trim_start_matches('=')).map(Entry::Above);
        }
        if let Some(rest) = text.strip_prefix('<') {
            return number(rest.trim_start_matches('=')).map(Entry::Below);
        }
        NOTHING.contains(&text.to_ascii_lowercase().as_str()).then(|| Entry::Nothing(text.into()))
    }
}

/// Gathers names in the order they come.
#[derive(Debug, Default)]
pub struct Interner {
    codes: Vec<u32>,
    names: Vec<String>,
    known: HashMap<String, u32>,
}

impl Interner {
    /// Adds the name of the next row.
    pub fn push(&mut self, name: &str) {
        let code = match self.known.get(name) {
            Some(code) => *code,
            None => {
                let code = self.names.len() as u32;
                self.names.push(name.to_owned());
                self.known.insert(name.to_owned(), code);
                code
            }
        };
        self.codes.push(code);
    }

    /// The column, with its names in an order that the rows do not decide.
    pub fn finish(self) -> Labels {
        let numbers: Option<Vec<f64>> =
            self.names.iter().map(|n| n.parse::<f64>().ok().filter(|v| v.is_finite())).collect();
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by(|a, b| {
            let by_value = numbers.as_ref().map(|n| n[*a].total_cmp(&n[*b]));
            by_value.unwrap_or(std::cmp::Ordering::Equal).then_with(|| self.names[*a].cmp(&self.names[*b]))
        });
        let mut place = vec![0u32; order.len()];
        for (to, from) in order.iter().enumerate() {
            place[*from] = to as u32;
        }
        Labels {
            codes: self.codes.iter().map(|c| place[*c as usize]).collect(),
            names: order.iter().map(|at| self.names[*at].clone()).collect(),
        }
    }
}

/// Most complaints that are kept; beyond, a file is simply another kind of file.
const MOST_COMPLAINTS: usize = 1000;

/// Reads the columns that a question needs out of CSV text; semicolons and tabs separate as well.
///
/// # Errors
/// Every complaint at once.
pub fn read(text: &str, question: &Question) -> Result<Table, Vec<Complaint>> {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().next().unwrap_or_default();
    let separator = [b',', b';', b'\t'].into_iter().find(|s| first.contains(char::from(*s))).unwrap_or(b',');
    let mut reader =
        csv::ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(text.as_bytes());
    let header: Vec<String> = match reader.headers() {
        Ok(header) => header.iter().map(|name| name.trim().to_owned()).collect(),
        Err(error) => return Err(vec![unreadable(&error)]),
    };
    let mut complaints = vec![];
    let roles = roles(&header, question, &mut complaints);
    if !complaints.is_empty() {
        return Err(complaints);
    }
    let mut names: Vec<Interner> = roles.labels.iter().map(|_| Interner::default()).collect();
    let mut numbers: Vec<Vec<Entry>> = roles.numbers.iter().map(|_| vec![]).collect();
    let mut record = csv::StringRecord::new();
    let mut rows = 0;
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                complaints.push(unreadable(&error));
                break;
            }
        }
        let line = record.position().map(csv::Position::line);
        if record.len() != header.len() {
            complaints.push(Complaint {
                line,
                field: None,
                message: format!(
                    "expected {} fields as the first line has, found {}",
                    header.len(),
                    record.len()
                ),
                help: String::new(),
            });
        } else {
            rows += 1;
            for (at, interner) in roles.labels.iter().zip(&mut names) {
                interner.push(record[*at].trim());
            }
            for (at, column) in roles.numbers.iter().zip(&mut numbers) {
                match Entry::of(record[*at].trim()) {
                    Some(entry) => column.push(entry),
                    None => complaints.push(Complaint {
                        line,
                        field: Some(at + 1),
                        message: format!(
                            "expected a number in column {}, found `{}`",
                            header[*at], &record[*at]
                        ),
                        help:
                            "a value that does not exist is written as nothing or NA, a timeout at 10 as >10"
                                .into(),
                    }),
                }
            }
        }
        if complaints.len() >= MOST_COMPLAINTS {
            break;
        }
    }
    if rows == 0 && complaints.is_empty() {
        complaints.push(Complaint::whole("expected rows below the header, found none".into(), ""));
    }
    if !complaints.is_empty() {
        return Err(complaints);
    }
    let named = |at: &usize| header[*at].clone();
    Ok(Table {
        rows,
        labels: roles.labels.iter().map(named).zip(names.into_iter().map(Interner::finish)).collect(),
        numbers: roles.numbers.iter().map(named).zip(numbers).collect(),
        unused: roles.unused,
    })
}

fn unreadable(error: &csv::Error) -> Complaint {
    let line = error.position().map(csv::Position::line);
    Complaint { line, field: None, message: format!("expected CSV, found {error}"), help: String::new() }
}

/// Which columns are read as what.
struct Roles {
    labels: Vec<usize>,
    numbers: Vec<usize>,
    unused: Vec<String>,
}

fn roles(header: &[String], question: &Question, complaints: &mut Vec<Complaint>) -> Roles {
    let mut seen = BTreeSet::new();
    for name in header.iter().filter(|name| !seen.insert(name.as_str())) {
        complaints.push(Complaint {
            line: Some(1),
            field: None,
            message: format!("column `{name}` is there twice"),
            help: "rename one of them".into(),
        });
    }
    let mut find = |name: &String| {
        let at = header.iter().position(|h| h == name);
        if at.is_none() {
            complaints.push(Complaint {
                line: Some(1),
                field: None,
                message: format!("expected a column `{name}`, found {}", header.join(", ")),
                help: String::new(),
            });
        }
        at
    };
    let labels: BTreeSet<usize> = question.label_columns().into_iter().filter_map(&mut find).collect();
    let numbers: BTreeSet<usize> = question.number_columns().into_iter().filter_map(&mut find).collect();
    for both in labels.intersection(&numbers) {
        let message = format!("column `{}` is asked for as a number and as a name", header[*both]);
        complaints.push(Complaint::whole(message, "give each column one role"));
    }
    let asked = |at: usize| labels.contains(&at) || numbers.contains(&at);
    let unused = header.iter().enumerate().filter(|(at, _)| !asked(*at)).map(|(_, n)| n.clone()).collect();
    Roles { labels: labels.into_iter().collect(), numbers: numbers.into_iter().collect(), unused }
}
