//! Speaking to whoever started the program: answers on standard output, everything else on standard error.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::failure::Failure;

/// Something that went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Something that was stopped.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Something to think about.
pub(crate) const CARE: Style = AnsiColor::Yellow.on_default().bold();
/// A heading.
pub(crate) const HEAD: Style = Style::new().bold();
/// Something beside the point.
pub(crate) const FAINT: Style = Style::new().dimmed();

/// A piece of text in a style, which is dropped where the output is no terminal.
pub(crate) fn painted(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A line of the command's answer, on standard output.
pub(crate) fn answer(line: impl Display) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    written(writeln!(out, "{line}").and_then(|()| out.flush()))
}

/// A line beside the answer, on standard error. There is nowhere left to say that it could not be written.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// A reader that went away has read enough; anything else is a failure.
pub(crate) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::environment(format_args!(
            "cannot write the answer: {error}"
        ))),
        Ok(()) | Err(_) => Ok(()),
    }
}
