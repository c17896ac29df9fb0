"""What a framework makes of a model's arguments, and what a model gets wrong in them, ends no run."""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from agents import function_tool
from agents.tool_context import ToolContext
from conftest import Gateway
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, BeforeValidator, ConfigDict, computed_field
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from tidegate import AsyncSession, Session, langchain, openai_agents, pydantic_ai

MAIL = "bob.miller@clinic-example.org"
ASKED = {"wish": {"text": "weather"}, "day": "2027-05-03"}
ran: list[Any] = []


class Wish(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def length(self) -> int:
        return len(self.text)


def web_search(wish: Wish, day: datetime.date) -> str:
    """Searches the web."""
    ran.append((wish, day))
    return "Sunny."


class Opaque:
    def __repr__(self) -> str:
        return MAIL


class Mute(BaseModel):
    text: Annotated[Any, BeforeValidator(lambda _: Opaque())]


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    with Session(url=gateway.url, token=gateway.connector, user="alice") as opened:
        yield opened


def later(gateway: Gateway) -> AsyncSession:
    return AsyncSession(url=gateway.url, token=gateway.connector, user="alice")


def call(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "id": "1", "name": "web_search", "args": arguments}


def test_langchain_reads_models_and_dates_from_what_was_asked_about(gateway: Gateway, session: Session) -> None:
    plain: BaseTool = tool(web_search)
    answer = langchain.guard(session, plain).invoke(call(ASKED))
    assert answer.status == "success" and answer.content == "Sunny."

    async def use() -> None:
        async with later(gateway) as session:
            answer = await langchain.guard(session, plain).ainvoke(call(ASKED))
            assert answer.status == "success" and answer.content == "Sunny."

    asyncio.run(use())
    assert ran == [(Wish(text="weather"), datetime.date(2027, 5, 3))] * 2
    refused = langchain.guard(session, plain).invoke(call(ASKED | {"wish": {"text": f"mail {MAIL}"}}))
    assert refused.status == "error" and "blocked" in refused.content and len(ran) == 2


def test_langchain_refuses_in_words_what_cannot_be_written(gateway: Gateway, session: Session) -> None:
    @tool("web_search")
    def silent(wish: Mute) -> str:
        """Searches the web."""
        ran.append(wish)
        return "Sunny."

    asked = call({"wish": {"text": "weather"}})
    answer = langchain.guard(session, silent).invoke(asked)

    async def use() -> Any:
        async with later(gateway) as session:
            return await langchain.guard(session, silent).ainvoke(asked)

    for each in (answer, asyncio.run(use())):
        assert each.status == "error" and "no JSON" in each.content and MAIL not in each.content
    assert ran == []


@pytest.mark.parametrize(
    "given", ['{"query": "x"', "[1]", '[["query", "x"]]', '"x"', "null", '{"query": NaN}', "[" * 100_000]
)
def test_openai_agents_refuses_in_words_what_a_model_got_wrong(gateway: Gateway, given: str) -> None:
    def search(query: str) -> str:
        ran.append(query)
        return query

    async def use() -> str:
        made = function_tool(search, name_override="web_search")
        context = ToolContext(None, tool_name="web_search", tool_call_id="1", tool_arguments=given)
        async with later(gateway) as session:
            guarded = openai_agents.guard(session, made)
            assert await guarded.on_invoke_tool(context, json.dumps({"query": "a"})) == "a"
            return await guarded.on_invoke_tool(context, given)

    assert "no JSON" in asyncio.run(use()) and ran == ["a"]


@pytest.mark.parametrize("kind", [Wish, Mute], ids=["readable", "unreadable"])
def test_pydantic_ai_reads_models_and_dates_from_what_was_asked_about(gateway: Gateway, kind: type[BaseModel]) -> None:
    heard: list[str] = []

    def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        heard.append(repr(messages[-1]))
        return ModelResponse([TextPart("Done.") if len(heard) > 1 else ToolCallPart("web_search", ASKED)])

    def search(wish: kind, day: datetime.date) -> str:  # type: ignore[valid-type]
        ran.append((wish, day))
        return "Sunny."

    # The types are named in here, where the framework does not look.
    search.__annotations__ = {"wish": kind, "day": datetime.date, "return": str}

    async def use() -> None:
        toolset: FunctionToolset[Any] = FunctionToolset()
        toolset.add_function(search, name="web_search")
        async with later(gateway) as session:
            await Agent(FunctionModel(scripted), toolsets=[pydantic_ai.guard(session, toolset)]).run("Go on.")

    asyncio.run(use())
    if kind is Wish:
        assert "Sunny." in heard[1] and ran == [(Wish(text="weather"), datetime.date(2027, 5, 3))]
    else:
        assert "no JSON" in heard[1] and MAIL not in heard[1] and ran == []
