//! The spine: walk the plan, prepare, prove, measure, keep to limits.

pub mod lab;
