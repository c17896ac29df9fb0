//! Finding the configuration: the file that was named, `./tidegate.toml`, or the built-in example.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use tidegate_detect::Detector;
use tidegate_detect::exits::Exits;

use crate::config::{self, Checked, Config, Detect, Overrides, Problem, Severity};
use crate::failure::Failure;
use crate::terminal::note;

/// The file that is used when none is named.
pub(crate) const DEFAULT_FILE: &str = "tidegate.toml";

/// What stands in the place of a configuration that is not there, while commands run that could make one. It is read as none, and by
/// Git, which is told of it inside, as a list of what to leave alone.
pub(crate) const STAND_IN: &str = "\
# This is no configuration. It keeps commands that tidegate runs here from making one, and goes when they end.
/tidegate.toml
";

/// Where the configuration and the state are.
#[derive(Args, Clone, Debug)]
pub(crate) struct Places {
    /// The configuration [default: ./tidegate.toml if there is one, else the built-in example]
    #[arg(long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Where state is kept [default: tidegate/ in your data directory]
    #[arg(long, value_name = "DIR", env = "TIDEGATE_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where sessions are mirrored as .private_data files [default: nowhere]
    #[arg(long, value_name = "DIR", env = "PRIVATE_DATA_DIR")]
    pub(crate) private_data_dir: Option<PathBuf>,
}

/// A text to be checked, and where it came from.
pub(crate) struct Source {
    /// What it is called in messages.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    /// Where relative paths in it start from.
    pub(crate) directory: PathBuf,
}

impl Places {
    /// The checked configuration. Warnings are shown; errors are shown and fail.
    pub(crate) fn load(&self, listen: Option<SocketAddr>) -> Result<Config, Failure> {
        let source = self.find()?;
        let overrides = Overrides {
            listen,
            data_dir: self.data_dir.clone(),
            private_data_dir: self.private_data_dir.clone(),
        };
        let Checked { config, problems } = config::check(&source.text, &source.directory, &overrides);
        for problem in &problems {
            note(problem.line(&source.name));
        }
        let config = config.ok_or_else(|| Failure::usage(summary(&source.name, &problems)))?;
        let file = self.config.clone().unwrap_or_else(|| DEFAULT_FILE.into());
        Ok(Config {
            file: Some(file),
            ..config
        })
    }

    /// Where state is kept. The configuration is read only if nothing more direct says it.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, Failure> {
        match &self.data_dir {
            Some(path) => Ok(path.clone()),
            None => Ok(self.load(None)?.data_dir),
        }
    }

    fn find(&self) -> Result<Source, Failure> {
        Ok(self.find_file()?.unwrap_or_else(|| Source {
            name: "built-in example".into(),
            text: config::EXAMPLE.into(),
            directory: PathBuf::from("."),
        }))
    }

    fn find_file(&self) -> Result<Option<Source>, Failure> {
        match &self.config {
            Some(path) => Source::read(path).map(Some),
            None => Source::read_if_there(Path::new(DEFAULT_FILE)),
        }
    }
}

/// Detection as the configuration tells it, or with nothing told when there is no configuration.
pub(crate) fn detection(config: Option<PathBuf>) -> Result<(Detector, Exits), Failure> {
    let places = Places {
        config,
        data_dir: None,
        private_data_dir: None,
    };
    let built = if places.find_file()?.is_some() {
        places.load(None)?.detect.build()
    } else {
        Detect::default().build()
    };
    built.map_err(Failure::usage)
}

impl Source {
    /// Reads a file that must be there.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let source = Self::read_if_there(path)?;
        source.ok_or_else(|| Failure::usage(format_args!("{shown}: there is no such file")))
    }

    /// Reads a file. Only one that does not exist is `None`: a file that cannot be read must not be passed over.
    fn read_if_there(path: &Path) -> Result<Option<Self>, Failure> {
        let name = path.display().to_string();
        let failed = |error| Failure::environment(format_args!("{name}: cannot be read: {error}"));
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        let limit = u64::try_from(config::MAX_FILE_BYTES).unwrap_or(u64::MAX);
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        if bytes.len() > config::MAX_FILE_BYTES {
            return Err(Failure::usage(format_args!("{name}: larger than {limit} bytes")));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let line = error
                .as_bytes()
                .iter()
                .take(good)
                .filter(|byte| **byte == b'\n')
                .count()
                + 1;
            Failure::usage(format_args!("{name}:{line}:1: not UTF-8 text"))
        })?;
        if text == STAND_IN {
            return Ok(None);
        }
        let directory = path
            .parent()
            .map_or_else(|| PathBuf::from("."), Path::to_path_buf);
        Ok(Some(Self {
            name,
            text,
            directory,
        }))
    }
}

/// How many errors and warnings there are.
pub(crate) fn summary(name: &str, problems: &[Problem]) -> String {
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .count();
    let warnings = problems.len() - errors;
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    format!(
        "{name}: {}, {}",
        counted(errors, "error"),
        counted(warnings, "warning")
    )
}
