//! What a server says on standard error, on its way to the log.
//!
//! Nobody declared of which class it is, so it is logged without the values that rules know. Some of them stretch over
//! lines: lines that come together are looked at together, and nothing of a private key is logged.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::Ident;
use tidegate_engine::Engine;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc;

use super::stdio::{Line, next_line};

/// The longest line that is logged.
const LINE_BYTES: usize = 2_000;

/// How much is looked at together.
const BURST_BYTES: usize = 4_096;

/// Lines that come this soon after each other belong together.
const QUIET: Duration = Duration::from_millis(100);

/// The most lines of a private key whose end does not come.
const KEY_LINES: usize = 200;

/// Where what a server says beside its messages goes.
pub(super) struct Log {
    pub(super) name: Ident,
    pub(super) engine: Arc<Engine>,
}

impl Log {
    /// Logs bounded lines, with nothing in them that could forge another, until there are no more.
    pub(super) async fn lines(self, stderr: impl AsyncRead + Unpin) {
        let (said, hearing) = mpsc::channel(16);
        tokio::join!(read(stderr, said), self.hear(hearing));
    }

    async fn hear(self, mut hearing: mpsc::Receiver<String>) {
        let mut burst = Burst::default();
        while let Some(line) = hearing.recv().await {
            burst.take(line);
            while let Ok(Some(line)) = tokio::time::timeout(QUIET, hearing.recv()).await {
                burst.take(line);
                self.log(burst.overflow(|text| self.engine.loggable(text)));
            }
            self.log(burst.shown(0, |text| self.engine.loggable(text)));
        }
    }

    fn log(&self, lines: Vec<String>) {
        for line in lines.iter().filter(|line| !line.trim().is_empty()) {
            tracing::info!(server = %self.name, line = %line, "on standard error");
        }
    }
}

async fn read(stderr: impl AsyncRead + Unpin, said: mpsc::Sender<String>) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        let text = match next_line(&mut lines, &mut line, LINE_BYTES).await {
            Line::Whole => printable(&line),
            Line::End => return,
            Line::TooLong => {
                skip_line(&mut lines).await;
                "(a long line)".to_owned()
            }
        };
        if said.send(text).await.is_err() {
            return;
        }
    }
}

/// Passes over the rest of a line.
async fn skip_line<R: AsyncRead + Unpin>(lines: &mut BufReader<R>) {
    while let Ok(chunk) = lines.fill_buf().await
        && !chunk.is_empty()
    {
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(chunk.len(), |at| at + 1);
        lines.consume(used);
        if end.is_some() {
            return;
        }
    }
}

/// Lines that came together and are not logged yet.
#[derive(Default)]
struct Burst {
    lines: Vec<String>,
    bytes: usize,
    /// How many more lines may be of a private key that has begun.
    key_lines: usize,
}

impl Burst {
    fn take(&mut self, line: String) {
        let was_key = self.key_lines > 0;
        if !self.is_of_key(&line) {
            self.bytes += line.len() + 1;
            self.lines.push(line);
        } else if !was_key {
            self.take_mark();
        }
    }

    fn take_mark(&mut self) {
        let mark = "(a private key)";
        self.bytes += mark.len() + 1;
        self.lines.push(mark.to_owned());
    }

    /// Whether a line is of a private key. The rules know one that is whole; here none of its lines is waited for.
    fn is_of_key(&mut self, line: &str) -> bool {
        let begin = line
            .rfind("-----BEGIN")
            .filter(|at| line.get(*at..).is_some_and(|rest| rest.contains("PRIVATE KEY")));
        let end = line.rfind("-----END");
        match begin {
            Some(begin) => {
                let goes_on = end.is_none_or(|end| end < begin);
                self.key_lines = if goes_on { KEY_LINES } else { 0 };
                true
            }
            None if self.key_lines > 0 => {
                self.key_lines = if end.is_some() { 0 } else { self.key_lines - 1 };
                true
            }
            None => false,
        }
    }

    /// What can be logged of a burst that goes on: the older part of what there is, once that is much.
    fn overflow(&mut self, loggable: impl Fn(&str) -> String) -> Vec<String> {
        if self.bytes <= BURST_BYTES {
            return Vec::new();
        }
        self.shown(BURST_BYTES / 2, loggable)
    }

    /// The oldest lines as logs may show them, so that no more is left than is to be kept. What is left was looked at together
    /// with them, and what was found in it is gone.
    fn shown(&mut self, keep: usize, loggable: impl Fn(&str) -> String) -> Vec<String> {
        let shown = loggable(&self.lines.join("\n"));
        self.lines = shown.split('\n').map(str::to_owned).collect();
        self.bytes = self.lines.iter().map(|line| line.len() + 1).sum();
        let mut count = 0;
        for line in &self.lines {
            if self.bytes <= keep {
                break;
            }
            self.bytes -= line.len() + 1;
            count += 1;
        }
        self.lines.drain(..count).collect()
    }
}

fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that is logged of a burst, where one name is known over two lines.
    fn logged(lines: &[&str]) -> Vec<String> {
        let known = |text: &str| text.replace("Ann\nLee", "[name]\n");
        let mut burst = Burst::default();
        let mut logged = Vec::new();
        for line in lines {
            burst.take((*line).to_owned());
            logged.extend(burst.overflow(known));
        }
        logged.extend(burst.shown(0, known));
        logged
    }

    #[test]
    fn lines_are_looked_at_together() {
        assert_eq!(logged(&["to Ann", "Lee, here"]), ["to [name]", ", here"]);
        let filler = "x".repeat(500);
        for before in 0..20 {
            let mut lines = vec![filler.as_str(); before];
            lines.extend(["Ann", "Lee"]);
            lines.extend(vec![filler.as_str(); 20]);
            let logged = logged(&lines);
            assert_eq!(logged.len(), lines.len(), "{before}");
            assert!(
                !logged.iter().any(|line| line == "Ann" || line == "Lee"),
                "{before}"
            );
        }
    }

    #[test]
    fn nothing_of_a_private_key_is_logged() {
        let (begin, end) = (
            "x -----BEGIN OPENSSH PRIVATE KEY-----",
            "-----END OPENSSH PRIVATE KEY-----",
        );
        assert_eq!(
            logged(&["a", begin, "b3BlbnNzaC1rZXk", "c2NhcQ", end, "z"]),
            ["a", "(a private key)", "z"]
        );
        assert_eq!(
            logged(&[&format!("{begin}\\nb3Bl\\n{end}"), "z"]),
            ["(a private key)", "z"]
        );
        let mut endless = vec![begin];
        endless.extend(["b3Bl"; KEY_LINES]);
        endless.push("z");
        assert_eq!(logged(&endless), ["(a private key)", "z"]);
        assert_eq!(logged(&["-----BEGIN CERTIFICATE-----", "z"]).len(), 2);
    }

    #[tokio::test]
    async fn of_a_long_line_nothing_is_logged() {
        let text = format!("a\n{}CANARY\nz\n", "x".repeat(3 * LINE_BYTES));
        let (said, mut hearing) = mpsc::channel(16);
        read(text.as_bytes(), said).await;
        let mut heard = Vec::new();
        while let Some(line) = hearing.recv().await {
            heard.push(line);
        }
        assert_eq!(heard, ["a", "(a long line)", "z"]);
    }
}
