//! `tidegate pdf-text`: reads a PDF from standard input and writes its text. The gateway starts it for each PDF that a
//! connector reads, so that a file made to harm its reader harms a process that holds nothing.

use clap::Args;
use tidegate_connect::files::pdf;

use crate::failure::Failure;

/// Write the text of a PDF on standard input.
#[derive(Args, Debug)]
pub(crate) struct PdfText {}

impl PdfText {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self {} = self;
        pdf::read_standard_input().map_err(Failure::no)
    }
}
