"""Function tools of the OpenAI Agents SDK, guarded."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from tidegate.async_session import AsyncSession
from tidegate.guarding import as_text, unreadable


def guard(session: AsyncSession, tool: FunctionTool, *, seal: bool = False) -> FunctionTool:
    """The same tool, whose every call goes through the session's gateway. A refusal or a failure is the tool's answer, in
    words the model can use."""

    async def invoke(context: ToolContext[Any], given: str) -> Any:
        try:
            asked = json.loads(given or "{}")
        except (ValueError, RecursionError):
            return unreadable(tool.name).answer()
        seen = await session.answer(
            tool.name,
            asked,
            lambda arguments: tool.on_invoke_tool(context, json.dumps(arguments)),
            seal=seal,
        )
        return as_text(seen)

    return dataclasses.replace(tool, on_invoke_tool=invoke)
