//! The program: hands its arguments to the front door and exits with what that says.

fn main() {}
