//! What a local model thinks of texts: a JSON string on each line in, a score on each line out.
//!
//! `cargo run -p tidegate-classify --example opinions -- MODEL TOKENIZER LIBRARY < texts.jsonl`

use std::io::{BufRead, Write};
use std::time::Duration;

use tidegate_classify::{OnnxModel, OnnxSettings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args_os().skip(1);
    let mut next = || paths.next().ok_or("needs MODEL TOKENIZER LIBRARY");
    let (model, tokenizer, library) = (next()?, next()?, next()?);
    let model = OnnxModel::open(&OnnxSettings {
        timeout: Duration::from_secs(600),
        max_text: 1 << 20,
        ..OnnxSettings::new(model.into(), tokenizer.into(), library.into())
    })?;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        writeln!(out, "{}", model.classify(&text)?.injection)?;
    }
    Ok(())
}
