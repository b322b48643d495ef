//! What is asked of a table: which column is what, and how values count.

use super::table::Complaint;
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
    /// Factors, or the column of the arms, that were set once for a group of runs.
    pub whole_plot: Vec<String>,
    /// Column that says which of these settings each row belongs to; None where a block made each once.
    pub group: Option<String>,
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

/// What the arms are called where they are a factor.
const ARM: &str = "arm";

impl Question {
    fn is_arm(&self, column: &str) -> bool {
        self.control.as_ref().is_some_and(|(arm, _)| arm == column)
    }

    /// What was set once for a group of runs, by the names that factors have.
    pub fn hard_to_change(&self) -> Vec<String> {
        let name = |column: &String| if self.is_arm(column) { ARM.to_owned() } else { column.clone() };
        self.whole_plot.iter().map(name).collect()
    }

    /// What is wrong with the question itself.
    pub fn complaints(&self) -> Vec<Complaint> {
        let mut found = vec![];
        for column in self.whole_plot.iter().filter(|c| !self.factors.contains(c) && !self.is_arm(c)) {
            found.push(Complaint::whole(
                format!("column `{column}` was set once for a group of runs, and is no factor"),
                "name it with --factors too, or as the column of --control",
            ));
        }
        if !self.whole_plot.is_empty() && self.block.is_none() && self.group.is_none() {
            found.push(Complaint::whole(
                "expected a column that says which runs shared a setting, found none".to_owned(),
                "give --block where every block made each setting once, else --group",
            ));
        }
        found
    }

    /// Columns that are read as names.
    pub fn label_columns(&self) -> Vec<&String> {
        let arm = self.control.as_ref().map(|(column, _)| column);
        let along = self.along.as_ref().map(Along::column);
        self.factors
            .iter()
            .chain(along)
            .chain(arm)
            .chain(&self.block)
            .chain(&self.group)
            .chain(&self.whole_plot)
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
