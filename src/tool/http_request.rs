//! What a load asks an HTTP server for, and which answer to it is right.

const BEFORE: &str = "/unit/";

/// Where one unit of work is asked for.
#[must_use]
pub fn path(number: u64) -> String {
    format!("{BEFORE}{number}")
}

/// The number that a path carries; None where it asks for something else.
#[must_use]
pub fn number(path: &str) -> Option<u64> {
    path.strip_prefix(BEFORE)?.parse().ok()
}

/// The body of the right answer. It carries the number, so that the answer to another request is a wrong one.
#[must_use]
pub fn answer(number: u64) -> String {
    format!("work {number} done\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_goes_out_by_the_path_and_comes_back_in_the_answer() {
        assert_eq!(number(&path(17)), Some(17));
        for other in ["/", "/unit/", "/unit/x", "/unit/1/2", "/unit/-1", "/works/1"] {
            assert_eq!(number(other), None, "{other}");
        }
        assert_ne!(answer(1), answer(11));
    }
}
