//! Findings as a page and as tables.
