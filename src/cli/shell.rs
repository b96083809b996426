//! `laggard completions` and `laggard manual`.

use super::{Arguments, Verdict, note, print};
use crate::error::{Error, Result};
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard completions bash > ~/.local/share/bash-completion/completions/laggard
  laggard completions zsh > ~/.zfunc/_laggard      (with ~/.zfunc in fpath)
  laggard completions fish > ~/.config/fish/completions/laggard.fish")]
pub struct CompletionOptions {
    /// The shell
    shell: Shell,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard manual ~/.local/share/man/man1      then `man laggard`, `man laggard-run`")]
pub struct ManualOptions {
    /// Where the pages go
    folder: PathBuf,
}

/// Prints what a shell needs to complete our commands.
pub fn completions(options: &CompletionOptions) -> Result<Verdict> {
    let mut script = Vec::new();
    generate(options.shell, &mut Arguments::command(), "laggard", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Verdict::Fine)
}

/// Writes a manual page of the program, and one of each command.
pub fn manual(options: &ManualOptions) -> Result<Verdict> {
    std::fs::create_dir_all(&options.folder).map_err(|source| Error::io(&options.folder, source))?;
    clap_mangen::generate_to(Arguments::command().name("laggard"), &options.folder)
        .map_err(|source| Error::io(&options.folder, source))?;
    note(&format!("manual pages in {}\n", options.folder.display()));
    Ok(Verdict::Fine)
}
