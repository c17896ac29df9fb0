//! A command cannot change the configuration by which it is judged, nor make one for the next.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;
mod sandbox;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use run::{Place, Ran};
use sandbox::{has, wait_until, workspace};

/// `tidegate run` in the workspace, which is all that it is told.
fn run_there(place: &Place, args: &[&str], script: &str) -> Command {
    let mut command = place.command(&["run", "--quiet", "--data-dir"]);
    command
        .arg(place.path("state"))
        .args(args)
        .args(["--", "sh", "-c", script])
        .current_dir(place.path("work"))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

#[test]
fn a_configuration_at_the_top_of_the_workspace_stays_as_it_is() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    place.write("work/tidegate.toml", "# as it was\n");
    symlink("work/tidegate.toml", place.path("link.toml")).unwrap();
    for config in [None, Some("tidegate.toml"), Some("../link.toml")] {
        for script in [
            "echo '# changed' >> tidegate.toml",
            "rm -f tidegate.toml",
            "mv tidegate.toml other.toml",
            "echo '# changed' > new.toml; mv -f new.toml tidegate.toml",
            "ln tidegate.toml second.toml && echo '# changed' >> second.toml",
        ] {
            let args = config.map_or(vec![], |config| vec!["--config", config]);
            let ran: Ran = run_there(&place, &args, script).output().unwrap().into();
            assert_ne!(ran.code, 0, "{script}");
            let kept = fs::read_to_string(workspace.join("tidegate.toml")).unwrap();
            assert_eq!(kept, "# as it was\n", "{config:?} {script}");
        }
    }
}

#[test]
fn a_configuration_that_could_be_replaced_is_refused() {
    let place = Place::new();
    let workspace = workspace(&place);
    fs::create_dir(workspace.join("conf")).unwrap();
    place.write("work/conf/tidegate.toml", "");
    place.write("outside.toml", "");
    symlink("../outside.toml", workspace.join("link.toml")).unwrap();
    symlink("conf/tidegate.toml", workspace.join("deep.toml")).unwrap();
    place.write("work/twice.toml", "");
    fs::hard_link(workspace.join("twice.toml"), workspace.join("again.toml")).unwrap();
    for (config, why) in [
        ("conf/tidegate.toml", "out of the workspace, or to its top"),
        ("conf/../link.toml", "out of the workspace, or to its top"),
        ("link.toml", "out of the workspace, or to its top"),
        ("deep.toml", "out of the workspace, or to its top"),
        ("twice.toml", "a second name"),
    ] {
        let ran: Ran = run_there(&place, &["--config", config], "touch ran")
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, 2, "{config}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{config}: {}", ran.stderr);
    }
    // A directory that is not the top can be renamed, with or without a configuration in it.
    for (says, remedy) in [
        ("could be changed from inside", "move the file"),
        ("could be made from inside", "start at the workspace's top"),
    ] {
        let ran: Ran = run_there(&place, &["--workspace", ".."], "touch ran")
            .current_dir(workspace.join("conf"))
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(
            ran.stderr.contains(says) && ran.stderr.contains(remedy),
            "{}",
            ran.stderr
        );
        let _ = fs::remove_file(workspace.join("conf/tidegate.toml"));
    }
    assert!(!workspace.join("ran").exists());
}

#[test]
fn a_configuration_that_is_not_there_cannot_be_made() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    let is_empty = || fs::read_dir(&workspace).unwrap().count() == 0;
    for script in [
        "echo '[sandbox]' > tidegate.toml",
        "rm -f tidegate.toml",
        "mv tidegate.toml other.toml",
        "cd /tmp; echo '[sandbox]' > new; mv -f new \"$OLDPWD/tidegate.toml\"",
    ] {
        let ran: Ran = run_there(&place, &[], script).output().unwrap().into();
        assert_ne!(ran.code, 0, "{script}");
        assert!(is_empty(), "{script}: {}", ran.stderr);
    }

    // Whoever is killed leaves the stand-in behind. It counts as none, and goes with the next.
    let mut killed = run_there(&place, &[], "touch ready; sleep 60")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the command runs", || workspace.join("ready").exists());
    killed.kill().unwrap();
    killed.wait().unwrap();
    fs::remove_file(workspace.join("ready")).unwrap();
    assert!(workspace.join("tidegate.toml").exists());
    let shown: Ran = place
        .command(&["check", "work/tidegate.toml"])
        .output()
        .unwrap()
        .into();
    assert!(
        shown.stderr.contains("no such file"),
        "{}{}",
        shown.stdout,
        shown.stderr
    );
    let ran: Ran = run_there(&place, &[], "true").output().unwrap().into();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(is_empty());
}

#[test]
fn files_that_the_configuration_names_stay_as_they_are() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    fs::create_dir(workspace.join("deep")).unwrap();
    for name in ["work/cases.txt", "work/deep/cases.txt", "outside.txt"] {
        place.write(name, "C-1\n");
    }
    let name = |list: &str| {
        let text = format!("[citations.case]\npattern = \"C-[0-9]+\"\nlist = \"{list}\"\n");
        place.write("work/tidegate.toml", &text);
    };
    for (list, code, says) in [
        ("cases.txt", 1, ""),
        ("../outside.txt", 0, ""),
        ("deep/cases.txt", 2, "could be changed from inside"),
        ("missing.txt", 2, "could be made from inside"),
        ("deep/missing.txt", 2, "could be made from inside"),
    ] {
        name(list);
        let script = "touch new; mv -f new cases.txt 2> /dev/null && exit 0; echo C-2 >> cases.txt || exit 1";
        let ran: Ran = run_there(&place, &[], script).output().unwrap().into();
        assert_eq!(ran.code, code, "{list}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{list}: {}", ran.stderr);
        let kept = fs::read_to_string(workspace.join("cases.txt")).unwrap();
        // Where nobody names it, it is the command's.
        assert_eq!(kept == "C-1\n", code != 0, "{list}");
        place.write("work/cases.txt", "C-1\n");
    }
}

#[test]
fn what_stands_in_is_not_committed() {
    if !has("bwrap") || !has("git") {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    let script = "git init -q . && echo kept > kept && git add -A && git -c user.name=a -c user.email=a@b.example commit -qm a \
                  && git ls-files && git status --porcelain";
    let ran: Ran = run_there(&place, &[], script).output().unwrap().into();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "kept\n"), "{}", ran.stderr);
    assert!(!workspace.join("tidegate.toml").exists());
}

#[test]
fn a_directory_in_which_the_user_makes_nothing_needs_nothing_to_stand_in() {
    const NOBODY: u32 = 65_534;
    let place = Place::new();
    let workspace = workspace(&place);
    if !has("bwrap") || fs::metadata(&workspace).unwrap().uid() != 0 {
        // Only root can become somebody else.
        return;
    }
    let own = place.path("tidegate");
    let built = env!("CARGO_BIN_EXE_tidegate");
    // By another process: what this one has open to write, a child that another test starts has open too, and cannot be run.
    let copied = Command::new("cp").arg(built).arg(&own).status();
    assert!(copied.unwrap().success());
    fs::set_permissions(place.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(place.path("state")).unwrap();
    for name in ["state", "home"] {
        chown(place.path(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let run = || -> Ran {
        let mut command = Command::new(&own);
        command
            .args(["run", "--quiet", "--data-dir"])
            .arg(place.path("state"))
            .args(["--", "sh", "-c", "echo ran; touch tidegate.toml"])
            .current_dir(&workspace)
            .env_clear()
            .env("HOME", place.path("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .uid(NOBODY)
            .gid(NOBODY);
        command.output().unwrap().into()
    };
    let ran = run();
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "ran\n"), "{}", ran.stderr);
    // In a directory of his own he could, once he lets himself.
    chown(&workspace, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::set_permissions(&workspace, fs::Permissions::from_mode(0o555)).unwrap();
    let ran = run();
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("its name cannot be taken"), "{}", ran.stderr);
    assert!(!workspace.join("tidegate.toml").exists());
}
