//! The output of commands. A reader that closes the pipe, as `head` does, is no error: the command ends quietly, as others do.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

/// Prints a line to standard output.
pub(super) fn line(text: impl Display) -> io::Result<()> {
    print(format_args!("{text}\n"))
}

/// Prints a text to standard output, in one piece.
pub(super) fn print(text: impl Display) -> io::Result<()> {
    let text = text.to_string();
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints a line to standard error. There is nowhere to report that this fails.
pub(super) fn note(text: impl Display) {
    let _ = io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}
