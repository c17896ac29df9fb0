//! `tidegate doctor`: what this machine can isolate.

use clap::{Args, ValueEnum};

use crate::failure::Failure;

/// Say what this machine can isolate, what is missing, and how to get it
///
/// The exit code is 0 when commands or containers can be isolated here, and 1 when neither can.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// How to say it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Table,
    Json,
}

#[cfg(target_os = "linux")]
impl Doctor {
    pub(crate) fn run(self) -> Result<(), Failure> {
        use crate::terminal::answer;
        use tidegate_sandbox::machine::Machine;

        let machine = Machine::look(std::env::var_os("PATH").as_deref());
        match self.format {
            Format::Json => answer(serde_json::to_string_pretty(&machine).map_err(Failure::environment)?)?,
            Format::Table => table(&machine)?,
        }
        if machine.is_bare() {
            return Err(Failure::no("nothing can be isolated on this machine"));
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn table(machine: &tidegate_sandbox::machine::Machine) -> Result<(), Failure> {
    use crate::terminal::{BAD, GOOD, answer, painted};
    use tidegate_sandbox::machine::Standing;

    for piece in &machine.pieces {
        let mark = match piece.standing {
            Standing::Ready => painted(GOOD, "ready  "),
            Standing::Missing => painted(BAD, "missing"),
        };
        answer(format_args!("{mark}  {:<11} {}", piece.name, piece.found))?;
        if let Some(remedy) = piece.remedy {
            answer(format_args!("{:21}{remedy}", ""))?;
        }
    }
    let can = |can: bool| if can { "can" } else { "cannot" };
    answer(format_args!(
        "commands {} be isolated here, containers {} be",
        can(machine.commands),
        can(machine.containers)
    ))
}

#[cfg(not(target_os = "linux"))]
impl Doctor {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let _ = self.format;
        Err(Failure::no(
            "nothing can be isolated on this system: commands and containers are isolated on Linux",
        ))
    }
}
