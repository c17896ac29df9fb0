"""A data directory for every test, and a gateway for those that ask for one."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tidegate
from tidegate import backend, context

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing of the user's own, and no session named yet."""
    for name in [name for name in os.environ if name.startswith(("TIDEGATE_", "PRIVATE_DATA"))]:
        if name != "TIDEGATE_BIN":
            monkeypatch.delenv(name)
    monkeypatch.setattr(context, "_known", set())
    monkeypatch.setattr(context, "_only", None)
    context._current.set(None)
    data_dir = tmp_path / "state"
    monkeypatch.setenv("TIDEGATE_DATA_DIR", str(data_dir))
    tidegate.configure(data_dir=data_dir)
    yield data_dir
    backend.backend().suspend()


@dataclass(frozen=True)
class Gateway:
    """A gateway that serves, and what is needed to ask it."""

    url: str
    data_dir: Path
    connector: str

    def token(self, role: str, principal: str) -> str:
        whose = ["--role", role, "--principal", principal]
        return binary("token", "create", *whose, "--data-dir", str(self.data_dir), cwd=self.data_dir).strip()


def binary(*arguments: str, cwd: Path) -> str:
    """Runs the gateway's program to its end."""
    plain = {"HOME": str(cwd), "PATH": os.environ["PATH"]}
    command = [os.environ["TIDEGATE_BIN"], *arguments]
    done = subprocess.run(command, cwd=cwd, env=plain, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway for all tests, with the control list of the examples."""
    data_dir = tmp_path_factory.mktemp("gateway") / "state"
    data_dir.mkdir(mode=0o700)
    serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(data_dir)]
    serve += ["--config", str(ROOT / "examples" / "agents" / "tidegate.toml")]
    with subprocess.Popen(
        [os.environ["TIDEGATE_BIN"], *serve],
        cwd=data_dir,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        line = process.stdout.readline()
        found = re.fullmatch(r"listening on (http://\S+)\n", line)
        assert found, line
        ready = Gateway(found[1], data_dir, "")
        yield Gateway(found[1], data_dir, ready.token("connector", "desk"))
        process.terminate()
