"""Toolsets of Pydantic AI, guarded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from tidegate.async_session import AsyncSession
from tidegate.errors import GatewayError, ToolFailed, ToolPermissionError
from tidegate.typed import as_arguments


@dataclass
class GuardedToolset(WrapperToolset[Any]):
    """A toolset whose every call goes through a session's gateway. A refusal is the tool's answer, and a failure asks the
    model to try again, both in words it can use."""

    session: AsyncSession
    seal: bool = False

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        async def run(cleared: dict[str, Any]) -> Any:
            read = tool.args_validator.validate_json(json.dumps(cleared), context=ctx.validation_context)
            return await self.wrapped.call_tool(name, read, ctx, tool)

        try:
            return await self.session.call(name, as_arguments(name, tool_args), run, seal=self.seal)
        except ToolFailed as error:
            raise ModelRetry(error.answer()) from error
        except (ToolPermissionError, GatewayError) as error:
            return error.answer()


def guard(session: AsyncSession, toolset: AbstractToolset[Any], *, seal: bool = False) -> GuardedToolset:
    """The same tools, guarded."""
    return GuardedToolset(toolset, session, seal)
