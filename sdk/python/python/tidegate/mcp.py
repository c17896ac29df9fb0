"""Calls of an MCP client, guarded."""

from __future__ import annotations

from typing import Any, Protocol

from mcp.types import CallToolResult, TextContent

from tidegate.async_session import AsyncSession
from tidegate.errors import GatewayError, ToolFailed, ToolPermissionError
from tidegate.guarding import as_text


class ToolCaller(Protocol):
    """As much of ``mcp.Client`` or ``mcp.ClientSession`` as is used here."""

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> CallToolResult: ...


class GuardedClient:
    """A client's ``call_tool``, through a session's gateway. The gateway reads the structured content where there is one,
    and the text of the answer otherwise. A refusal or a failure is a result with ``is_error``, in words
    the model can use."""

    def __init__(self, session: AsyncSession, client: ToolCaller, *, seal: bool = False) -> None:
        self._session, self._client, self._seal = session, client, seal

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> CallToolResult:
        failed = False

        async def run(cleared: dict[str, Any]) -> Any:
            nonlocal failed
            result = await self._client.call_tool(name, cleared)
            failed = result.is_error
            return _readable(result)

        try:
            seen = await self._session.call(name, arguments or {}, run, seal=self._seal)
        except (ToolPermissionError, GatewayError, ToolFailed) as error:
            return _shown(error.answer(), True)
        return _shown(seen, failed)


def guard(session: AsyncSession, client: ToolCaller, *, seal: bool = False) -> GuardedClient:
    """The same client's calls, guarded."""
    return GuardedClient(session, client, seal=seal)


def _readable(result: CallToolResult) -> Any:
    if result.structured_content is not None:
        return result.structured_content
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    if len(texts) == len(result.content):
        return "\n".join(texts)
    # Blocks of another kind are handed over as they are, and classed by their source.
    return [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]


def _shown(seen: Any, failed: bool) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=as_text(seen))],
        structured_content=seen if isinstance(seen, dict) and not failed else None,
        is_error=failed,
    )
