//! Where each client keeps its MCP servers.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The clients that are known by name.
pub(super) const KNOWN: [&str; 5] = ["claude-code", "claude-desktop", "cursor", "vscode", "windsurf"];

/// Every file of a client that is named, the nearest first, or that path. Links are followed: what they lead to is exchanged.
pub(super) fn files_of(client: &str) -> Result<Vec<PathBuf>, Failure> {
    let known = KNOWN.contains(&client);
    let places = if known {
        places(client)
    } else {
        vec![PathBuf::from(client)]
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for file in places.iter().filter(|place| place.exists()) {
        let file = file
            .canonicalize()
            .map_err(|error| Failure::environment(format_args!("{}: {error}", file.display())))?;
        if !found.contains(&file) {
            found.push(file);
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    if !known {
        let names = KNOWN.join(", ");
        return Err(Failure::usage(format_args!(
            "{client} is neither a file nor one of {names}"
        )));
    }
    let looked: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
    Err(Failure::usage(format_args!(
        "{client} has no configuration; looked for {}",
        looked.join(", ")
    )))
}

/// Where a client's servers may stand, the nearest first.
fn places(client: &str) -> Vec<PathBuf> {
    let home = |path: &str| std::env::var_os("HOME").map(|home| Path::new(&home).join(path));
    let data = |path: &str| std::env::var_os("APPDATA").map(|data| Path::new(&data).join(path));
    let here = |path: &str| Some(PathBuf::from(path));
    let desktop = "Claude/claude_desktop_config.json";
    let places = match client {
        "claude-code" => vec![here(".mcp.json"), home(".claude.json")],
        "claude-desktop" => vec![
            home(&format!("Library/Application Support/{desktop}")),
            home(&format!(".config/{desktop}")),
            data(desktop),
        ],
        "cursor" => vec![here(".cursor/mcp.json"), home(".cursor/mcp.json")],
        "vscode" => vec![
            here(".vscode/mcp.json"),
            home(".config/Code/User/mcp.json"),
            home("Library/Application Support/Code/User/mcp.json"),
            data("Code/User/mcp.json"),
        ],
        _ => vec![home(".codeium/windsurf/mcp_config.json")],
    };
    places.into_iter().flatten().collect()
}
