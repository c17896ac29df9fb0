"""The snippets of the two documents that the names come from, with only the import line changed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tidegate
from tidegate import DataSensitivity, PrivateData, ToolPermissionError

SNIPPETS = Path(__file__).parent / "snippets"


def run(name: str) -> dict[str, Any]:
    """Runs a snippet. A line ``expression  # value`` says what the expression is."""
    text = (SNIPPETS / f"{name}.py").read_text()
    names: dict[str, Any] = {}
    exec(compile(text, name, "exec"), names)
    for expression, value in re.findall(r"^(pd\.\S+) +# (.+)$", text, re.M):
        assert eval(expression, names) == eval(value, names), expression
    return names


@pytest.mark.parametrize("name", ["seed_000_tagging", "seed_001_tagging", "seed_001_sensitivity"])
def test_a_snippet_says_what_it_does(name: str) -> None:
    run(name)


def test_the_levels_are_ordered() -> None:
    names = ["public", "internal", "confidential", "secret"]
    levels = [DataSensitivity(name) for name in names]
    assert levels == sorted(reversed(levels))
    assert all(isinstance(level, str) and level.value == name for level, name in zip(levels, names))
    assert max(levels) is DataSensitivity.SECRET
    assert DataSensitivity("restricted") is DataSensitivity.CONFIDENTIAL


@pytest.mark.parametrize(
    ("tagging", "enforcing", "tool", "arguments"),
    [
        ("seed_000_tagging", "seed_000_enforcing", "send_payment_notification", ("a@example.org", 5.0)),
        ("seed_001_tagging", "seed_001_enforcing", "send_notification", ("a@example.org", "s", "b")),
    ],
)
def test_a_tool_that_connects_is_blocked_once_the_session_is_private(
    tagging: str, enforcing: str, tool: str, arguments: tuple[Any, ...]
) -> None:
    if tagging == "seed_000_tagging":
        tidegate.set_user_session("alice", "analysis-42")
    send = run(enforcing)[tool]
    assert send(*arguments)
    run(tagging)
    with pytest.raises(ToolPermissionError, match=f'tool "{tool}" blocked: session context contains'):
        send(*arguments)


def test_the_only_session_a_process_names_is_the_one_its_tools_work_in() -> None:
    send = run("seed_000_enforcing")["send_payment_notification"]
    run("seed_000_tagging")
    with pytest.raises(ToolPermissionError):
        send("a@example.org", 5.0)


@pytest.mark.parametrize(("level", "private"), [("public", False), ("internal", True), ("pii", True)])
def test_a_connector_tags_as_it_returns(level: str, private: bool) -> None:
    names = run("seed_000_connector")
    names.update(db_config=SimpleNamespace(sensitivity=DataSensitivity(level)), formatted_result="| 1 |")
    assert asyncio.run(names["execute_sql"]("patients", "SELECT 1", None)) == "| 1 |"
    data = PrivateData()
    assert data.has_private_data is private
    assert data.get_private_datasets() == (["sql:patients"] if private else [])
    assert data.sensitivity == level


def test_sensitivity_never_falls() -> None:
    data = PrivateData()
    for level, expected in [("internal", "internal"), ("secret", "secret"), ("public", "secret")]:
        data.add_private_dataset("d", DataSensitivity(level))
        assert data.sensitivity is DataSensitivity(expected)
    data.add_private_dataset("unclassified")
    assert data.get_private_datasets() == ["d", "unclassified"]
