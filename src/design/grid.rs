//! The full factorial grid, counted by index so that it never has to be stored.

use indexmap::IndexMap;

use crate::model::level::Level;

/// Every level with every other. A *point* is one combination of levels; points count from 0 with
/// the last variable moving fastest. A grid without variables has one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    variables: IndexMap<String, Vec<Level>>,
}

impl Grid {
    pub fn new(variables: IndexMap<String, Vec<Level>>) -> Grid {
        Grid { variables }
    }

    pub fn variables(&self) -> &IndexMap<String, Vec<Level>> {
        &self.variables
    }

    /// Number of points; saturates far beyond any cap.
    pub fn points(&self) -> u64 {
        self.variables.values().fold(1u64, |n, levels| n.saturating_mul(levels.len() as u64))
    }

    /// The level of each variable at a point, in file order.
    pub fn levels(&self, point: u64) -> impl Iterator<Item = (&str, &Level)> {
        let mut stride = self.points();
        self.variables.iter().map(move |(name, levels)| {
            stride /= levels.len() as u64;
            let index = (point / stride) % levels.len() as u64;
            (name.as_str(), &levels[index as usize])
        })
    }

    pub fn level(&self, point: u64, variable: &str) -> Option<&Level> {
        self.levels(point).find(|(name, _)| *name == variable).map(|(_, level)| level)
    }

    /// The lowest point of each combination of the named variables' levels, the others at their
    /// first level; in grid order.
    pub fn corners<'a>(&'a self, named: &'a dyn Fn(&str) -> bool) -> impl Iterator<Item = u64> + 'a {
        let sizes: Vec<u64> =
            self.variables.iter().map(|(name, l)| if named(name) { l.len() as u64 } else { 1 }).collect();
        let full: Vec<u64> = self.variables.values().map(|l| l.len() as u64).collect();
        let count = sizes.iter().fold(1u64, |n, s| n.saturating_mul(*s));
        (0..count).map(move |mut corner| {
            let (mut point, mut stride) = (0, 1);
            for (size, whole) in sizes.iter().zip(&full).rev() {
                point += corner % size * stride;
                corner /= size;
                stride *= whole;
            }
            point
        })
    }

    /// The index of a point among `corners` of the named variables.
    pub fn corner_of(&self, point: u64, named: &dyn Fn(&str) -> bool) -> u64 {
        let mut stride = self.points();
        let mut corner = 0;
        for (name, levels) in &self.variables {
            let size = levels.len() as u64;
            stride /= size;
            if named(name) {
                corner = corner * size + (point / stride) % size;
            }
        }
        corner
    }

    /// `frame_size=64,streams=4`; characters that would make an id ambiguous are percent-encoded.
    pub fn point_id(&self, point: u64) -> String {
        let mut id = String::with_capacity(16 * self.variables.len());
        for (name, level) in self.levels(point) {
            if !id.is_empty() {
                id.push(',');
            }
            id.push_str(name);
            id.push('=');
            encode(&level.text, &mut id);
        }
        id
    }
}

fn encode(text: &str, out: &mut String) {
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() || matches!(c, ',' | '=' | '/' | '#' | '%' | '\'' | '"') {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(variables: &[(&str, &[&str])]) -> Grid {
        Grid::new(
            variables
                .iter()
                .map(|(n, l)| (n.to_string(), l.iter().map(|t| Level::plain(*t)).collect()))
                .collect(),
        )
    }

    #[test]
    fn every_level_meets_every_other_exactly_once() {
        let g = grid(&[("a", &["1", "2"]), ("b", &["x", "y", "z"])]);
        let ids: Vec<String> = (0..g.points()).map(|p| g.point_id(p)).collect();
        assert_eq!(ids, ["a=1,b=x", "a=1,b=y", "a=1,b=z", "a=2,b=x", "a=2,b=y", "a=2,b=z"]);
        assert_eq!(grid(&[]).points(), 1);
        assert_eq!(grid(&[("a", &[])]).points(), 0);
    }

    #[test]
    fn ids_keep_spelling_and_stay_unambiguous() {
        let g = grid(&[("v", &["1.1", "1.10", "a,b=c/d e"])]);
        assert_eq!(g.point_id(0), "v=1.1");
        assert_eq!(g.point_id(1), "v=1.10");
        assert_eq!(g.point_id(2), "v=a%2Cb%3Dc%2Fd%20e");
    }

    #[test]
    fn corners_and_their_index_agree() {
        let g = grid(&[("a", &["1", "2"]), ("b", &["x", "y", "z"]), ("c", &["p", "q"])]);
        let named = |n: &str| n != "b";
        let corners: Vec<u64> = g.corners(&named).collect();
        assert_eq!(corners.len(), 4);
        for (i, corner) in corners.iter().enumerate() {
            assert_eq!(g.corner_of(*corner, &named), i as u64);
            assert_eq!(g.level(*corner, "b").map(|l| l.text.as_str()), Some("x"));
        }
        assert_eq!(g.corner_of(11, &named), 3);
    }
}
