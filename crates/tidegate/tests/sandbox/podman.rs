//! Podman for one test: its own storage, its own socket, and an image made here.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The image that tests use: busybox and nothing else.
pub(crate) const IMAGE: &str = "localhost/tidegate-test:latest";

/// The programs of busybox that it has.
const PROGRAMS: [&str; 8] = ["sh", "sleep", "cat", "echo", "touch", "wget", "ls", "mv"];

const SETTINGS: &str = "\
[containers]
default_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]
[engine]
runtime = \"runc\"
cgroup_manager = \"cgroupfs\"
events_logger = \"file\"
";

/// A running Podman.
pub(crate) struct Podman {
    directory: PathBuf,
    service: Child,
}

impl Podman {
    pub(crate) fn start(directory: &Path) -> Self {
        std::fs::create_dir(directory).unwrap();
        std::fs::write(directory.join("containers.conf"), SETTINGS).unwrap();
        let socket = format!("unix://{}", directory.join("podman.sock").display());
        let service = podman(directory)
            .args(["system", "service", "--time=0", &socket])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let podman = Self {
            directory: directory.to_owned(),
            service,
        };
        let since = Instant::now();
        while std::os::unix::net::UnixStream::connect(podman.socket()).is_err() {
            assert!(
                since.elapsed() < Duration::from_secs(60),
                "podman does not answer"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        podman.import();
        podman
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join("podman.sock")
    }

    /// What a command of Podman's says.
    pub(crate) fn ask(&self, args: &[&str]) -> String {
        let done = podman(&self.directory).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "podman {args:?}: {said}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    fn import(&self) {
        let root = self.directory.join("files");
        for name in ["bin", "tmp", "root"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
        for name in PROGRAMS {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).unwrap();
        }
        let archive = self.directory.join("image.tar");
        let packed = Command::new("tar")
            .arg("-C")
            .arg(&root)
            .arg("-cf")
            .arg(&archive)
            .arg(".")
            .status();
        assert!(packed.unwrap().success());
        self.ask(&["import", archive.to_str().unwrap(), IMAGE]);
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = podman(&self.directory)
            .args(["rm", "--all", "--force", "--time", "0"])
            .output();
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn podman(directory: &Path) -> Command {
    let mut command = Command::new("podman");
    command
        .arg("--root")
        .arg(directory.join("root"))
        .arg("--runroot")
        .arg(directory.join("run"))
        .args(["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"])
        .env("CONTAINERS_CONF", directory.join("containers.conf"));
    command
}
