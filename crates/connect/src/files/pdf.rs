//! The text of PDF files, read by a process of its own.
//!
//! A PDF is a program more than a text: a small file can unfold to any size, nest without end or be made to trip its
//! reader. So it is read by a child with little memory and little time, which has no keys and no connection, and whose
//! failure is only that there is no text.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::{Bounds, Failure};

/// The largest file that is tried.
const MOST_FILE_BYTES: u64 = 64 << 20;
/// The most text that comes of one.
const MOST_TEXT_BYTES: usize = 16 << 20;
/// The most that one page unfolds to.
const MOST_PAGE_BYTES: usize = 32 << 20;
const MOST_PAGES: usize = 2_000;
/// The child's memory, in addresses, and its time on a processor.
const MEMORY_BYTES: u64 = 1 << 30;
const SECONDS: u64 = 20;

/// The program that reads a PDF from its standard input and writes its text: one that calls [`read_standard_input`].
#[derive(Clone, Debug)]
pub struct PdfReader {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// There is no text to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no text can be had from this PDF")]
pub struct NoText;

impl PdfReader {
    pub(super) async fn text_of(&self, file: File, bounds: Bounds) -> Result<String, Failure> {
        let no_text = || Failure::Rejected("no text can be had from this PDF".to_owned());
        let size = file.metadata().map_err(|_| no_text())?.len();
        if size > MOST_FILE_BYTES {
            return Err(Failure::Refused(format!(
                "the PDF has {size} bytes; at most {MOST_FILE_BYTES} are read"
            )));
        }
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .stdin(Stdio::from(file))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|_| Failure::Unavailable("PDF files cannot be read now".to_owned()))?;
        let mut bytes = Vec::new();
        let output = child.stdout.take().ok_or_else(no_text)?;
        let most = u64::try_from(bounds.bytes).unwrap_or(u64::MAX).saturating_add(4);
        output
            .take(most)
            .read_to_end(&mut bytes)
            .await
            .map_err(|_| no_text())?;
        let is_cut = bytes.len() > bounds.bytes;
        if !is_cut {
            let status = child.wait().await.map_err(|_| no_text())?;
            if !status.success() {
                return Err(no_text());
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(error) if is_cut => {
                let good = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                bytes.truncate(good);
                String::from_utf8(bytes).map_err(|_| no_text())
            }
            Err(_) => Err(no_text()),
        }
    }
}

/// What the child does: takes its limits, reads a PDF and writes its text.
///
/// # Errors
/// When there is no text, or it cannot be written.
pub fn read_standard_input() -> io::Result<()> {
    for (resource, most) in [
        (Resource::As, MEMORY_BYTES),
        (Resource::Cpu, SECONDS),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)?;
    }
    let mut bytes = Vec::new();
    io::stdin().take(MOST_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    let text = text_of(&bytes).map_err(io::Error::other)?;
    io::stdout().write_all(text.as_bytes())
}

/// The text of a PDF, page by page.
///
/// # Errors
/// When it is none, is encrypted, or holds no text.
pub fn text_of(bytes: &[u8]) -> Result<String, NoText> {
    let document = lopdf::Document::load_mem(bytes).map_err(|_| NoText)?;
    let mut text = String::new();
    for page in document.get_pages().into_keys().take(MOST_PAGES) {
        // A page that cannot be read leaves a gap, not nothing.
        let page_text = document.extract_text_with_limit(&[page], MOST_PAGE_BYTES);
        text.push_str(page_text.as_deref().unwrap_or("[a page that cannot be read]\n"));
        if text.len() > MOST_TEXT_BYTES {
            break;
        }
    }
    if text.trim().is_empty() {
        return Err(NoText);
    }
    Ok(text)
}
