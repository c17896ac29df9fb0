"""Tools of LangChain and LangGraph, guarded."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from tidegate.async_session import AsyncSession
from tidegate.errors import GatewayError, ToolFailed, ToolPermissionError
from tidegate.session import Session
from tidegate.typed import as_arguments


def guard(session: Session | AsyncSession, tool: BaseTool, *, seal: bool = False) -> BaseTool:
    """The same tool, whose every call goes through the session's gateway. A refusal or a failure is the tool's answer,
    marked as an error, in words the model can use."""

    def run(**arguments: Any) -> Any:
        try:
            return session.call(tool.name, as_arguments(tool.name, arguments), tool.invoke, seal=seal)
        except (ToolPermissionError, GatewayError, ToolFailed) as error:
            raise ToolException(error.answer()) from error

    async def run_later(**arguments: Any) -> Any:
        try:
            return await session.call(tool.name, as_arguments(tool.name, arguments), tool.ainvoke, seal=seal)
        except (ToolPermissionError, GatewayError, ToolFailed) as error:
            raise ToolException(error.answer()) from error

    waits = isinstance(session, Session)
    return StructuredTool.from_function(
        func=run if waits else None,
        coroutine=None if waits else run_later,
        name=tool.name,
        description=tool.description,
        args_schema=tool.args_schema,
        infer_schema=False,
        handle_tool_error=True,
    )
