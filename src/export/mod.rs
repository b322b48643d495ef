//! Findings and rows in the formats of other tools.

pub mod bencher;
pub mod junit;
pub mod markdown;
pub mod name;
pub mod openmetrics;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod summary;
