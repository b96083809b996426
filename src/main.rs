//! The `laggard` command.

fn main() -> std::process::ExitCode {
    laggard::cli::main()
}
