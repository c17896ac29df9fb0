//! Running a command in a container.

use bollard::container::LogOutput;
use bollard::exec::StartExecResults;
use bollard::models::ExecConfig;
use futures_util::StreamExt;

use super::{ContainerError, Containers, asked_to};

/// Something a command said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// On standard output.
    Out(Vec<u8>),
    /// On standard error.
    Err(Vec<u8>),
}

impl Containers {
    /// Runs a command in a container to its end, and gives its exit code. A container that is taken away in the meantime ends
    /// it.
    ///
    /// # Errors
    /// When the engine does not run it.
    pub async fn run(
        &self,
        name: &str,
        command: Vec<String>,
        mut hear: impl FnMut(Said) + Send,
    ) -> Result<i32, ContainerError> {
        let config = ExecConfig {
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(command),
            ..ExecConfig::default()
        };
        let created = self.docker.create_exec(name, config).await;
        let id = created.map_err(asked_to("prepare the command"))?.id;
        let started = self.docker.start_exec(&id, None).await;
        let started = started.map_err(asked_to("run the command"))?;
        if let StartExecResults::Attached { mut output, .. } = started {
            while let Some(Ok(said)) = output.next().await {
                match said {
                    LogOutput::StdErr { message } => hear(Said::Err(message.to_vec())),
                    LogOutput::StdOut { message } | LogOutput::Console { message } => {
                        hear(Said::Out(message.to_vec()));
                    }
                    LogOutput::StdIn { .. } => {}
                }
            }
        }
        let ended = self.docker.inspect_exec(&id).await;
        let code = ended.ok().and_then(|ended| ended.exit_code);
        // Without an answer the container is gone, and the command was killed with it.
        Ok(code.and_then(|code| i32::try_from(code).ok()).unwrap_or(137))
    }
}
