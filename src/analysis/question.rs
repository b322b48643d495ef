//! What is asked of a table: which column is what, and how values count.

use crate::model::response::Better;
use crate::model::scale::Scale;

/// A question about a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Columns of measured values; the first decides, the others are exploratory.
    pub responses: Vec<String>,
    /// Columns whose levels make the grid.
    pub factors: Vec<String>,
    pub block: Option<String>,
    /// Column of the arms, and the name of the control in it.
    pub control: Option<(String, String)>,
    /// Column that says in what order runs were made.
    pub order: Option<String>,
    /// Column of outcomes.
    pub status: Option<String>,
    pub deadline: Option<Deadline>,
    /// How rows of one cell and block become one value; None where each is a run of its own.
    pub samples: Option<Reduction>,
    pub scale: Scale,
    pub better: Better,
    pub margin: Option<f64>,
    /// Unit of the responses; may be empty.
    pub unit: String,
    /// Where changes of level are looked for.
    pub along: Option<Along>,
}

/// A column whose names stand in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Along {
    /// Every row is a point, named by this column.
    History(String),
    /// Releases of this column, each measured in every block.
    Ladder(String),
}

impl Along {
    /// Its column.
    pub fn column(&self) -> &String {
        match self {
            Along::History(column) | Along::Ladder(column) => column,
        }
    }
}

/// Where a run was cut off, in the unit of the first response.
#[derive(Debug, Clone, PartialEq)]
pub enum Deadline {
    At(f64),
    /// Each row has its own, in this column.
    Column(String),
}

/// What samples of one run are reduced to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    Median,
    Mean,
}

impl Question {
    /// Columns that are read as names.
    pub fn label_columns(&self) -> Vec<&String> {
        let arm = self.control.as_ref().map(|(column, _)| column);
        let along = self.along.as_ref().map(Along::column);
        self.factors
            .iter()
            .chain(along)
            .chain(arm)
            .chain(&self.block)
            .chain(&self.order)
            .chain(&self.status)
            .collect()
    }

    /// Columns that are read as numbers.
    pub fn number_columns(&self) -> Vec<&String> {
        let own = match &self.deadline {
            Some(Deadline::Column(column)) => Some(column),
            _ => None,
        };
        self.responses.iter().chain(own).collect()
    }
}
