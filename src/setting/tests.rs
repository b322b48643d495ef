//! Settings against real interfaces and against a model of the kernel files.
