"""The programs of examples/agents, and the first one of the README, as they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Gateway

EXAMPLES = ROOT / "examples" / "agents"


def run(program: list[str], cwd: Path, **environment: str) -> str:
    plain = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        program, cwd=cwd, env=plain | environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", [path.name for path in sorted(EXAMPLES.glob("*_*.py"))])
def test_an_example_shows_block_plan_stub_and_seal(gateway: Gateway, name: str) -> None:
    asked = {"TIDEGATE_URL": gateway.url, "TIDEGATE_TOKEN": gateway.connector}
    said = run([sys.executable, str(EXAMPLES / name)], EXAMPLES, PYTHONDONTWRITEBYTECODE="1", **asked)
    assert "plan valid: False; safe order: ['web_search', 'search_email']" in said
    seen = re.findall(r"^the model sees of (\w+): (.*)$", said, re.M)
    names = ["web_search", "booking_lookup", "ledger_export", "send_mail", "search_email", "web_search"]
    assert [tool for tool, _ in seen] == names
    texts = [text for _, text in seen]
    assert "Sunny" in texts[0]
    assert "{GUEST_EMAIL_1}" in texts[1] and "2027-05-03" in texts[1]
    assert "{SEALED_LEDGER_EXPORT_1}" in texts[2] and "1001" not in texts[2]
    assert 'tool "web_search" blocked: session context contains internal_ip (from search_email)' in texts[5]
    assert "ada.lovelace" not in "".join(texts).lower()
    assert re.findall(r"^really done: (.*)$", said, re.M) == [
        "web_search weather",
        "booking_lookup B-17",
        "ledger_export 2026",
        "send_mail to ada.lovelace@example.org",
        "search_email key box",
    ]


def test_the_first_example_of_the_readme_runs_as_printed(tmp_path: Path) -> None:
    readme = (ROOT / "sdk" / "python" / "README.md").read_text()
    program, printed = re.findall(r"```(?:python|text)\n(.*?)```", readme, re.S)[:2]
    (tmp_path / "example.py").write_text(program)
    assert run([sys.executable, "example.py"], tmp_path) == printed
