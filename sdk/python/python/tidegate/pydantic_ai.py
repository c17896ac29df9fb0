"""Toolsets of Pydantic AI, guarded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from tidegate.async_session import AsyncSession
from tidegate.errors import GatewayError, ToolFailed, ToolPermissionError


@dataclass
class GuardedToolset(WrapperToolset[Any]):
    """A toolset whose every call goes through a session's gateway. A refusal is the tool's answer, and a failure asks the
    model to try again, both in words it can use."""

    session: AsyncSession
    seal: bool = False

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        try:
            return await self.session.call(
                name,
                tool_args,
                lambda arguments: self.wrapped.call_tool(name, arguments, ctx, tool),
                seal=self.seal,
            )
        except ToolFailed as error:
            raise ModelRetry(error.answer()) from error
        except (ToolPermissionError, GatewayError) as error:
            return error.answer()


def guard(session: AsyncSession, toolset: AbstractToolset[Any], *, seal: bool = False) -> GuardedToolset:
    """The same tools, guarded."""
    return GuardedToolset(toolset, session, seal)
