"""What a tool is given is what the gateway was asked about, and nothing beside it."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
from conftest import Gateway

from tidegate import AsyncSession, Session, ToolPermissionError

MAIL = "bob.miller@clinic-example.org"


class Text(str):
    """A text with something beside it."""

    beside = MAIL


def itself() -> list[Any]:
    held: list[Any] = []
    held.append(held)
    return held


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    with Session(url=gateway.url, token=gateway.connector, user="alice") as opened:
        yield opened


def never(_: Any) -> None:
    pytest.fail("it ran")


@pytest.mark.parametrize(
    "value",
    [
        {MAIL},
        MAIL.encode(),
        datetime.date(2027, 5, 3),
        object(),
        float("nan"),
        2**64,
        -(2**63) - 1,
        {(1, 2): MAIL},
        itself(),
    ],
    ids=["set", "bytes", "date", "object", "nan", "digits", "negative digits", "key", "itself"],
)
def test_what_the_gateway_cannot_read_does_not_reach_the_tool(session: Session, value: Any) -> None:
    for arguments in ({"query": value}, {"query": {"deep": [value]}}):
        with pytest.raises(ToolPermissionError) as refused:
            session.call("web_search", arguments, never)
        assert refused.value.rule == "arguments-unreadable" and MAIL not in str(refused.value)
        assert "no JSON" in session.answer("web_search", arguments, never)


@pytest.mark.parametrize("arguments", [None, [1], [["query", "x"]], "query"])
def test_arguments_have_names(session: Session, arguments: Any) -> None:
    with pytest.raises(ToolPermissionError) as refused:
        session.call("web_search", arguments, never)
    assert refused.value.rule == "arguments-unreadable"


def test_the_tool_gets_what_json_holds_of_its_arguments(session: Session) -> None:
    given: list[Any] = []
    arguments = {"query": Text("weather"), "more": ({"a": [2**64 - 1, -(2**63), 1.5, True, None]},)}
    for each in (arguments, MappingProxyType(arguments)):
        session.call("web_search", each, given.append)
    plain = {"query": "weather", "more": [{"a": [2**64 - 1, -(2**63), 1.5, True, None]}]}
    assert given == [plain, plain]
    assert [type(each["query"]) for each in given] == [str, str]


def test_a_change_after_the_question_does_not_reach_the_tool(gateway: Gateway) -> None:
    given: list[str] = []

    async def run(arguments: dict[str, Any]) -> None:
        given.extend(arguments["words"])

    async def use() -> None:
        async with AsyncSession(url=gateway.url, token=gateway.connector, user="alice") as session:
            arguments = {"words": ["weather"]}
            running = asyncio.create_task(session.call("web_search", arguments, run))
            await asyncio.sleep(0)
            arguments["words"].append(MAIL)
            await running

    asyncio.run(use())
    assert given == ["weather"]
