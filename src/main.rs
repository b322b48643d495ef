//! The program: hands its arguments to the front door and exits with what that says.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fieldtrial::cli::main())
}
