"""A session at a gateway, for coroutines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx

from tidegate import guarding, wire
from tidegate.answers import (
    Chunk,
    Context,
    Decision,
    Delivered,
    Manifest,
    Output,
    Planned,
    PlanReport,
    Resolved,
    SessionState,
)
from tidegate.classes import DataSensitivity
from tidegate.errors import GatewayError, ToolPermissionError


class AsyncSession:
    """A session at a gateway, for coroutines.

    Address and token are ``TIDEGATE_URL`` and ``TIDEGATE_TOKEN`` unless they are passed. A session that is named and known is
    found again as it is.
    """

    def __init__(
        self,
        session_id: str | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        timeout: float = wire.TIMEOUT_SECONDS,
    ) -> None:
        self._client = httpx.AsyncClient(**wire.settings(url, token, timeout))
        self._opening = wire.opening(session_id, user, agent)
        self._id: str | None = None

    async def open(self) -> str:
        """Opens the session, or finds it again, and gives its id. Every other method does so by itself."""
        if self._id is None:
            opened = await self._ask("POST", "/v1/sessions", self._opening)
            self._id = str(opened["session_id"])
        return self._id

    async def state(self) -> SessionState:
        """The label, how it got there, and what that closes."""
        return await self._in_session("GET")

    async def manifest(self) -> Manifest:
        """Every tool with its class, its ceiling and what calling it would close, and a few lines for a system prompt."""
        return await self._in_session("GET", "manifest")

    async def validate_plan(self, planned_calls: Sequence[Planned]) -> PlanReport:
        """Whether every call of a plan would pass, and an order in which it does."""
        return await self._in_session("POST", "validate-plan", body={"planned_calls": list(planned_calls)})

    async def authorize(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Decision:
        """Whether a call may pass, before it is made."""
        return await self._in_session("POST", "authorize", body={"tool": tool, "arguments": dict(arguments or {})})

    async def resolve(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Resolved:
        """The same, with the values of stubs and handles in the arguments. For a connector's token; no agent may see it."""
        return await self._in_session("POST", "resolve", body={"tool": tool, "arguments": dict(arguments or {})})

    async def deliver(self, tool: str, content: Any, *, seal: bool = False) -> Delivered:
        """Brings a tool's answer in. What comes back is what the agent may see, after the label has risen."""
        return await self._in_session("POST", "responses", body={"tool": tool, "content": content, "seal": seal})

    async def context(self, chunks: Sequence[Chunk]) -> Context:
        """Puts a context together from chunks with origin and source."""
        return await self._in_session("POST", "context", body={"chunks": list(chunks)})

    async def output(
        self, text: str, *, recipient_role: str = "human-operator", verify_citations: bool = False
    ) -> Output:
        """Checks a model's output before a person sees it."""
        asked = {"text": text, "recipient_role": recipient_role, "verify_citations": verify_citations}
        return await self._in_session("POST", "output", body=asked)

    async def add_dataset(
        self, name: str, sensitivity: DataSensitivity = DataSensitivity.CONFIDENTIAL
    ) -> SessionState:
        """Registers a dataset. Known already, it can only be raised."""
        asked = {"name": name, "sensitivity": DataSensitivity(sensitivity).value}
        return await self._in_session("POST", "datasets", body=asked)

    async def gates(self) -> Any:
        """What waits for a person, as far as this token may see it."""
        return await self._ask("GET", "/v1/gates", None)

    async def decide_gate(self, gate_id: str, *, approve: bool, reason: str) -> Any:
        """A person's decision at a gate."""
        asked = {"decision": "approve" if approve else "deny", "reason": reason}
        return await self._ask("POST", f"/v1/gates/{wire.quoted(gate_id)}/decision", asked)

    async def call(
        self, tool: str, arguments: Mapping[str, Any], run: Callable[[dict[str, Any]], Awaitable[Any]], *, seal: bool = False
    ) -> Any:
        """Authorizes, runs, delivers. Raises ``ToolPermissionError`` before ``run`` where the call may not pass, and gives
        what the agent may see of what ``run`` returned. Where the arguments hold stubs, ``run`` gets their values, and the
        token must be a connector's."""
        try:
            decision = await self.authorize(tool, arguments)
            if decision.get("unresolved"):
                decision = resolved = await self.resolve(tool, arguments)
                arguments = resolved.get("arguments") or {}
        except GatewayError as error:
            raise guarding.unanswered(tool, error) from error
        guarding.refuse(tool, decision)
        result = await run(dict(arguments))
        return (await self.deliver(tool, guarding.as_json(result), seal=seal))["content"]

    async def answer(
        self, tool: str, arguments: Mapping[str, Any], run: Callable[[dict[str, Any]], Awaitable[Any]], *, seal: bool = False
    ) -> Any:
        """The same for a model: a refusal is an answer in words, and nothing is raised for it."""
        try:
            return await self.call(tool, arguments, run, seal=seal)
        except (ToolPermissionError, GatewayError) as error:
            return error.answer()

    def guard(self, *, name: str | None = None, seal: bool = False) -> guarding.AsyncGuard:
        """Decorates a function so that each call of it goes through the gateway as the tool of that name."""
        return guarding.AsyncGuard(self, name, seal)

    async def close(self) -> None:
        """Lets go of the connection. The session stays at the gateway."""
        await self._client.aclose()

    async def __aenter__(self) -> AsyncSession:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _in_session(self, method: str, *rest: str, body: Any = None) -> Any:
        return await self._ask(method, wire.path(await self.open(), *rest), body)

    async def _ask(self, method: str, where: str, body: Any) -> Any:
        try:
            return wire.answer(await self._client.request(method, where, json=body))
        except httpx.HTTPError as error:
            raise wire.unreachable(error) from None
