//! The authorization model's two texts: OpenFGA's own translator turns the one for people into the one for the API.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

const PACKAGE: &str = "@openfga/syntax-transformer@0.2.2";
const PROGRAM: &str = "const {transformer} = require('@openfga/syntax-transformer');\
                       const text = require('fs').readFileSync(0, 'utf8');\
                       console.log(transformer.transformDSLToJSON(text));";

/// OpenFGA's translator, which runs in Node.
pub struct Translator {
    place: PathBuf,
}

/// The translator, if it is installed; nothing when it is not, and the test is to be skipped.
///
/// # Errors
/// When it is missing and nothing may be skipped.
pub fn translator() -> Result<Option<Translator>, String> {
    let place = place();
    if place.join("node_modules/@openfga/syntax-transformer").is_dir() {
        return Ok(Some(Translator { place }));
    }
    if std::env::var("CI").as_deref() == Ok("true") {
        return Err(format!(
            "{PACKAGE} is not installed, and nothing may be skipped in CI"
        ));
    }
    Ok(None)
}

/// Installs the translator where it is missing.
///
/// # Errors
/// When npm cannot, and nothing may be skipped.
pub fn install(say: impl Fn(&str)) -> Result<(), String> {
    if matches!(translator(), Ok(Some(_))) {
        return Ok(());
    }
    let place = place();
    let made = std::fs::create_dir_all(&place).and_then(|()| {
        std::fs::write(
            place.join("package.json"),
            "{\"name\": \"model\", \"private\": true}\n",
        )
    });
    made.map_err(|error| format!("cannot write in target: {error}"))?;
    let status = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", PACKAGE])
        .current_dir(&place)
        .status();
    if status.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    translator()?;
    say("==> npm cannot be run");
    say("    skipped: crates/authority/tests/bootstrap.rs: both_texts_of_the_model_agree");
    Ok(())
}

/// Writes the text for the API anew from the one for people.
///
/// # Errors
/// When the translator is missing or does not understand the text.
pub fn write() -> Result<(), String> {
    let directory = root().join("crates/authority/model");
    let failed = |error: std::io::Error| format!("the model cannot be read or written: {error}");
    let dsl = std::fs::read_to_string(directory.join("tidegate.fga")).map_err(failed)?;
    let translator = translator()?.ok_or_else(|| format!("npm could not install {PACKAGE}"))?;
    let text = format!("{:#}\n", translator.to_json(&dsl)?);
    std::fs::write(directory.join("tidegate.json"), text).map_err(failed)
}

impl Translator {
    /// What the API is told.
    ///
    /// # Errors
    /// When the translator does not understand the text.
    pub fn to_json(&self, dsl: &str) -> Result<Value, String> {
        let failed = |error: std::io::Error| format!("cannot run node: {error}");
        let mut node = Command::new("node")
            .args(["-e", PROGRAM])
            .current_dir(&self.place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut stdin) = node.stdin.take() {
            stdin.write_all(dsl.as_bytes()).map_err(failed)?;
        }
        let output = node.wait_with_output().map_err(failed)?;
        serde_json::from_slice(&output.stdout)
            .map_err(|_| "the model is not in OpenFGA's language".to_owned())
    }
}

fn place() -> PathBuf {
    root().join("target/fga-model")
}

fn root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}
