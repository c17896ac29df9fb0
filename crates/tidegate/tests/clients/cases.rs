//! The official servers, and what is asked of each: every tool, prompt and template it has must be named here.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// A server, and everything that is asked of it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    /// Variables that it needs.
    pub(crate) env: Vec<(&'static str, String)>,
    /// The roots that the client tells it of.
    pub(crate) roots: Vec<String>,
    pub(crate) calls: Value,
    /// Resources beside those that it lists; all of those are read.
    pub(crate) reads: Value,
    /// Listed resources that are not read: they give orders to models and are put away.
    pub(crate) unread: Value,
    pub(crate) gets: Value,
    pub(crate) completes: Value,
}

impl Case {
    /// Everything that the server said it has is asked for.
    pub(crate) fn covers(&self, said: &Value) {
        let names = |part: &str, member: &str| -> Vec<String> {
            let items = said[part].as_array().unwrap().iter();
            items
                .map(|item| item[member].as_str().unwrap().to_owned())
                .collect()
        };
        let asked = |table: &Value, member: &str, name: &str| {
            table.as_array().unwrap().iter().any(|row| row[member] == name)
        };
        for tool in names("tools", "name") {
            assert!(
                asked(&self.calls, "tool", &tool),
                "{}: no call of {tool} in the table",
                self.name
            );
        }
        for prompt in names("prompts", "name") {
            assert!(
                asked(&self.gets, "name", &prompt),
                "{}: no prompt {prompt} in the table",
                self.name
            );
        }
        for template in names("templates", "uriTemplate") {
            let fixed = template.split('{').next().unwrap();
            let mut reads = self.reads.as_array().unwrap().iter();
            let read = reads.any(|uri| uri.as_str().unwrap().starts_with(fixed));
            assert!(read, "{}: nothing of {template} in the table", self.name);
        }
    }
}

/// Where a server of the Node packages is.
pub(crate) fn node_server(installed: &Path, package: &str) -> String {
    let path = installed.join(format!(
        "node_modules/@modelcontextprotocol/{package}/dist/index.js"
    ));
    path.to_str().unwrap().to_owned()
}

/// One of each that the protocol has.
pub(crate) fn everything(installed: &Path, _: &Path) -> Case {
    Case {
        name: "everything",
        command: "node".into(),
        args: vec![node_server(installed, "server-everything")],
        env: Vec::new(),
        roots: vec!["file:///srv/work".into()],
        calls: json!([
            {"tool": "echo", "arguments": {"message": "héllo \u{1f30a} \"quoted\""}},
            {"tool": "get-annotated-message", "arguments": {"messageType": "error", "includeImage": true}},
            {"tool": "get-resource-links", "arguments": {"count": 2}},
            {"tool": "get-resource-reference", "arguments": {"resourceType": "Text", "resourceId": 1}},
            {"tool": "get-structured-content", "arguments": {"location": "Chicago"}},
            {"tool": "get-sum", "arguments": {"a": 1.5, "b": 2}},
            {"tool": "get-sum", "arguments": {"a": "one"}},
            {"tool": "get-tiny-image"},
            {"tool": "get-env"},
            {"tool": "get-resource-reference", "arguments": {"resourceType": "Blob", "resourceId": 2}},
            {"tool": "gzip-file-as-resource", "arguments": {"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource"}},
            {"tool": "gzip-file-as-resource", "arguments": {"name": "b.gz", "data": "data:text/plain,hello"}},
            {"tool": "toggle-simulated-logging"},
            {"tool": "toggle-simulated-logging"},
            {"tool": "toggle-subscriber-updates"},
            {"tool": "toggle-subscriber-updates"},
            {"tool": "trigger-long-running-operation", "arguments": {"duration": 0.2, "steps": 2}},
            {"tool": "get-roots-list"},
            // The clients accept, decline and cancel in turn.
            {"tool": "trigger-elicitation-request"},
            {"tool": "trigger-elicitation-request"},
            {"tool": "trigger-elicitation-request"},
            {"tool": "trigger-url-elicitation", "arguments": {"url": "https://example.org/", "elicitationId": "e"}},
            {"tool": "trigger-sampling-request", "arguments": {"prompt": "a word"}},
            // It wants to be a task; asked as one in a test of its own.
            {"tool": "simulate-research-query", "arguments": {"topic": "tides"}},
        ]),
        reads: json!([
            "demo://resource/nowhere",
            "demo://resource/dynamic/text/7",
            "demo://resource/dynamic/blob/7",
            "demo://resource/dynamic/text/none",
            "demo://resource/session/a.gz",
        ]),
        unread: json!(["demo://resource/static/document/instructions.md"]),
        gets: json!([
            {"name": "simple-prompt"},
            {"name": "args-prompt", "arguments": {"city": "Berlin", "state": "BE"}},
            {"name": "args-prompt"},
            {"name": "completable-prompt", "arguments": {"department": "Engineering", "name": "Alice"}},
            {"name": "resource-prompt", "arguments": {"resourceType": "Text", "resourceId": "3"}},
            {"name": "resource-prompt", "arguments": {"resourceType": "Blob", "resourceId": "3"}},
            {"name": "resource-prompt", "arguments": {"resourceType": "Smoke", "resourceId": "3"}},
        ]),
        completes: json!([
            {"prompt": "completable-prompt", "argument": {"name": "department", "value": "S"}},
            {"prompt": "completable-prompt", "argument": {"name": "name", "value": ""}, "context": {"department": "Sales"}},
            {"template": "demo://resource/dynamic/text/{resourceId}", "argument": {"name": "resourceId", "value": "4"}},
            {"prompt": "no-such-prompt", "argument": {"name": "x", "value": ""}},
        ]),
    }
}

/// Files below a directory.
pub(crate) fn filesystem(installed: &Path, work: &Path) -> Case {
    let _ = std::fs::remove_dir_all(work);
    std::fs::create_dir_all(work.join("inner")).unwrap();
    std::fs::write(work.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(work.join("inner/b.txt"), "b").unwrap();
    let path = |name: &str| work.join(name).to_str().unwrap().to_owned();
    Case {
        name: "filesystem",
        command: "node".into(),
        args: vec![node_server(installed, "server-filesystem"), path("")],
        env: Vec::new(),
        roots: vec![format!("file://{}", path(""))],
        calls: json!([
            {"tool": "list_allowed_directories"},
            {"tool": "read_text_file", "arguments": {"path": path("a.txt")}},
            {"tool": "read_file", "arguments": {"path": path("a.txt"), "head": 1}},
            {"tool": "read_multiple_files", "arguments": {"paths": [path("a.txt"), path("none.txt")]}},
            {"tool": "list_directory", "arguments": {"path": path("")}},
            {"tool": "list_directory_with_sizes", "arguments": {"path": path("")}},
            {"tool": "directory_tree", "arguments": {"path": path("")}},
            {"tool": "search_files", "arguments": {"path": path(""), "pattern": "**/*.txt"}},
            {"tool": "create_directory", "arguments": {"path": path("new")}},
            {"tool": "write_file", "arguments": {"path": path("new/c.txt"), "content": "c"}},
            {"tool": "edit_file", "arguments": {"path": path("a.txt"), "edits": [{"oldText": "two", "newText": "zwei"}]}},
            {"tool": "move_file", "arguments": {"source": path("new/c.txt"), "destination": path("d.txt")}},
            {"tool": "read_media_file", "arguments": {"path": path("d.txt")}},
            {"tool": "get_file_info", "arguments": {"path": path("d.txt")}},
            {"tool": "read_text_file", "arguments": {"path": "/etc/hostname"}},
        ]),
        reads: json!([]),
        unread: json!([]),
        gets: json!([]),
        completes: json!([]),
    }
}

/// A graph of what is known.
pub(crate) fn memory(installed: &Path, work: &Path) -> Case {
    let _ = std::fs::remove_dir_all(work);
    std::fs::create_dir_all(work).unwrap();
    let entity = |name: &str| json!({"name": name, "entityType": "person", "observations": ["is here"]});
    Case {
        name: "memory",
        command: "node".into(),
        args: vec![node_server(installed, "server-memory")],
        env: vec![(
            "MEMORY_FILE_PATH",
            work.join("memory.jsonl").to_str().unwrap().to_owned(),
        )],
        roots: Vec::new(),
        calls: json!([
            {"tool": "create_entities", "arguments": {"entities": [entity("ann"), entity("bo")]}},
            {"tool": "create_relations", "arguments": {"relations": [{"from": "ann", "to": "bo", "relationType": "knows"}]}},
            {"tool": "add_observations", "arguments": {"observations": [{"entityName": "ann", "contents": ["sings"]}]}},
            {"tool": "search_nodes", "arguments": {"query": "sings"}},
            {"tool": "open_nodes", "arguments": {"names": ["bo"]}},
            {"tool": "delete_observations", "arguments": {"deletions": [{"entityName": "ann", "observations": ["sings"]}]}},
            {"tool": "delete_relations", "arguments": {"relations": [{"from": "ann", "to": "bo", "relationType": "knows"}]}},
            {"tool": "delete_entities", "arguments": {"entityNames": ["bo"]}},
            {"tool": "read_graph"},
        ]),
        reads: json!([]),
        unread: json!([]),
        gets: json!([]),
        completes: json!([]),
    }
}

/// A repository.
pub(crate) fn git(installed: &Path, work: &Path) -> Case {
    let _ = std::fs::remove_dir_all(work);
    std::fs::create_dir_all(work).unwrap();
    let date = "2024-01-01T00:00:00Z";
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(work)
            .args(["-c", "user.name=t", "-c", "user.email=t"]);
        command
            .env("GIT_AUTHOR_DATE", date)
            .env("GIT_COMMITTER_DATE", date);
        assert!(command.args(args).output().unwrap().status.success(), "{args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(work.join("a.txt"), "one\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    git(&["config", "user.name", "t"]);
    git(&["config", "user.email", "t"]);
    std::fs::write(work.join("a.txt"), "one\ntwo\n").unwrap();
    let repo = work.to_str().unwrap();
    Case {
        name: "git",
        command: installed
            .join("venv/bin/mcp-server-git")
            .to_str()
            .unwrap()
            .to_owned(),
        args: vec!["--repository".into(), repo.to_owned()],
        env: vec![
            ("GIT_AUTHOR_DATE", date.into()),
            ("GIT_COMMITTER_DATE", date.into()),
        ],
        roots: Vec::new(),
        calls: json!([
            {"tool": "git_status", "arguments": {"repo_path": repo}},
            {"tool": "git_diff_unstaged", "arguments": {"repo_path": repo}},
            {"tool": "git_add", "arguments": {"repo_path": repo, "files": ["a.txt"]}},
            {"tool": "git_diff_staged", "arguments": {"repo_path": repo}},
            {"tool": "git_commit", "arguments": {"repo_path": repo, "message": "second"}},
            {"tool": "git_log", "arguments": {"repo_path": repo}},
            {"tool": "git_show", "arguments": {"repo_path": repo, "revision": "HEAD"}},
            {"tool": "git_create_branch", "arguments": {"repo_path": repo, "branch_name": "side"}},
            {"tool": "git_checkout", "arguments": {"repo_path": repo, "branch_name": "side"}},
            {"tool": "git_diff", "arguments": {"repo_path": repo, "target": "main"}},
            {"tool": "git_branch", "arguments": {"repo_path": repo, "branch_type": "local"}},
            {"tool": "git_reset", "arguments": {"repo_path": repo}},
            {"tool": "git_status", "arguments": {"repo_path": "/nowhere"}},
        ]),
        reads: json!([]),
        unread: json!([]),
        gets: json!([]),
        completes: json!([]),
    }
}

/// Clocks.
pub(crate) fn time(installed: &Path, _: &Path) -> Case {
    Case {
        name: "time",
        command: installed
            .join("venv/bin/mcp-server-time")
            .to_str()
            .unwrap()
            .to_owned(),
        args: vec!["--local-timezone".into(), "UTC".into()],
        env: Vec::new(),
        roots: Vec::new(),
        calls: json!([
            {"tool": "convert_time", "arguments": {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}},
            {"tool": "get_current_time", "arguments": {"timezone": "Nowhere/Land"}},
            {"tool": "get_current_time", "arguments": {"timezone": "Asia/Tokyo"}},
        ]),
        reads: json!([]),
        unread: json!([]),
        gets: json!([]),
        completes: json!([]),
    }
}
