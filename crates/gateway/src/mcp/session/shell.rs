//! `run_command`, from the agent's words to what it may see.

use tidegate_core::{Class, Decision, Name};
use tidegate_engine::{AccessError, Bringing, Form, Interrupted, Payload};

use super::Session;
use super::content::arguments_of;
use super::govern::withheld;
use super::stopped::Stopped;
use super::veil;
use crate::mcp::message::{Envelope, code};
use crate::mcp::object::{Object, raw};
use crate::mcp::outlet::Outlet;
use crate::mcp::shell::{self, RUN_COMMAND};

impl Session {
    /// Whether a tool is the shell, and there is one.
    pub(super) fn is_shell(&self, name: &str) -> bool {
        name == RUN_COMMAND && self.hub.shell.get().is_some()
    }

    /// The shell as an entry of a list, where there is one.
    pub(super) fn shell_tool(&self) -> Option<Object> {
        self.hub.shell.get().map(|_| shell::tool())
    }

    /// Runs a command if the rules let it, and lets what it says in.
    pub(super) async fn run_command(
        &self,
        key: u64,
        outlet: &Outlet,
        request: &Envelope,
    ) -> Result<Envelope, Stopped> {
        let params = request.params();
        let name = Name::parse(RUN_COMMAND).map_err(|_| AccessError::from(Interrupted))?;
        let arguments = arguments_of(&params)?;
        let (Some(shell), Some(wanted)) = (
            self.hub.shell.get(),
            shell::wanted(&self.caller, &self.id, &arguments),
        ) else {
            let reason = "a command is needed, as text that a shell understands";
            return Err(
                Stopped::by("no-command", reason, "send {\"command\": \"...\"}").coded(code::INVALID_PARAMS)
            );
        };
        let engine = self.engine();
        let authorized = engine
            .authorize(&self.caller, &self.id, &name, &Payload::new(arguments))
            .await?;
        let permit = match authorized.decision {
            Decision::Allow(permit) => permit,
            Decision::Deny(refusal) | Decision::Hold(refusal) => return Err((&refusal).into()),
        };
        // What a command is told, it can keep in a file and send away later.
        self.hold(&name, authorized.arguments).await?;
        // Nobody sees what a command says that nobody waits for, so it ends.
        let ran = tokio::select! {
            () = self.nobody_waits(Some(outlet)) => return Err(Stopped::taken_back()),
            () = self.is_taken_back(key) => return Err(Stopped::taken_back()),
            ran = shell.run(permit.clear(wanted)) => ran.map_err(|error| Stopped::not_run(&error))?,
        };
        let bringing = Bringing {
            form: Form::McpResult,
            seal: veil::asks_for_seal(&params),
            ..Bringing::plain(Payload::new(shell::result(&ran)))
        };
        let delivered = engine.bring(&self.caller, &self.id, &name, bringing).await?;
        // What it has shown lies in the workspace as it is, though the agent may see stubs.
        let shown = delivered.findings.iter().map(|finding| finding.class).max();
        self.hold(&name, shown.unwrap_or(Class::Public)).await?;
        let view = engine.context(&self.caller, &self.id).await?;
        self.tell_label(&view.session, Some(outlet)).await;
        let seen = delivered.content.ok_or_else(withheld)?.into_exposed();
        Ok(Envelope::answer(request.id(), raw(&seen)))
    }

    /// Labels the session with what the shell holds.
    async fn hold(&self, name: &Name, class: Class) -> Result<(), Stopped> {
        let view = self.engine().context(&self.caller, &self.id).await?;
        if class > view.session.context.label().class() {
            let added = self
                .engine()
                .add_dataset(&self.caller, &self.id, name.clone(), class);
            added.await?;
        }
        Ok(())
    }
}
