"""A session at a gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx

from tidegate import guarding, wire
from tidegate.answers import (
    Chunk,
    Context,
    Decision,
    Delivered,
    Gate,
    Gates,
    Manifest,
    Output,
    Planned,
    PlanReport,
    Resolved,
    SessionState,
)
from tidegate.classes import DataSensitivity
from tidegate.errors import GatewayError, ToolFailed, ToolPermissionError


class Session:
    """A session at a gateway, for code that waits for answers.

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
        self._client = httpx.Client(**wire.settings(url, token, timeout))
        self._opening = wire.opening(session_id, user, agent)
        self._id: str | None = None

    def open(self) -> str:
        """Opens the session, or finds it again, and gives its id. Every other method does so by itself."""
        if self._id is None:
            opened = self._ask("POST", "/v1/sessions", self._opening)
            self._id = str(opened["session_id"])
        return self._id

    def state(self) -> SessionState:
        """The label, how it got there, and what that closes."""
        return self._in_session("GET")

    def manifest(self) -> Manifest:
        """Every tool with its class, its ceiling and what calling it would close, and a few lines for a system prompt."""
        return self._in_session("GET", "manifest")

    def validate_plan(self, planned_calls: Sequence[Planned]) -> PlanReport:
        """Whether every call of a plan would pass, and an order in which it does."""
        return self._in_session("POST", "validate-plan", body={"planned_calls": list(planned_calls)})

    def authorize(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, wait_seconds: int | None = None
    ) -> Decision:
        """Whether a call may pass, before it is made. Where a person must decide, ``wait_seconds`` waits for them."""
        return self._in_session("POST", "authorize", body=wire.call(tool, arguments, wait_seconds))

    def resolve(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Resolved:
        """The same, with the values of stubs and handles in the arguments. For a connector's token; no agent may see it."""
        return self._in_session("POST", "resolve", body=wire.call(tool, arguments, None))

    def deliver(self, tool: str, content: Any, *, seal: bool = False) -> Delivered:
        """Brings a tool's answer in. What comes back is what the agent may see, after the label has risen."""
        return self._in_session("POST", "responses", body={"tool": tool, "content": content, "seal": seal})

    def context(self, chunks: Sequence[Chunk]) -> Context:
        """Puts a context together from chunks with origin and source."""
        return self._in_session("POST", "context", body={"chunks": list(chunks)})

    def output(
        self, text: str, *, recipient_role: str = "human-operator", verify_citations: bool = False
    ) -> Output:
        """Checks a model's output before a person sees it."""
        asked = {"text": text, "recipient_role": recipient_role, "verify_citations": verify_citations}
        return self._in_session("POST", "output", body=asked)

    def add_dataset(
        self, name: str, sensitivity: DataSensitivity = DataSensitivity.CONFIDENTIAL
    ) -> SessionState:
        """Registers a dataset. Known already, it can only be raised."""
        asked = {"name": name, "sensitivity": DataSensitivity(sensitivity).value}
        return self._in_session("POST", "datasets", body=asked)

    def gates(self, state: str = "open") -> Gates:
        """What of this session waits for a person, or was decided by one (``state="all"``)."""
        return self._in_session("GET", f"gates?state={wire.quoted(state)}")

    def gate(self, gate_id: str, *, wait_seconds: int | None = None) -> Gate:
        """One question to a person, at once or when it was decided or the wait is over."""
        wait = "" if wait_seconds is None else f"?wait={int(wait_seconds)}"
        return self._in_session("GET", "gates", wire.quoted(gate_id) + wait)

    def queue(self, state: str = "open") -> Gates:
        """What waits for a person in every session that this token may see."""
        return self._ask("GET", f"/v1/gates?state={wire.quoted(state)}", None)

    def decide_gate(self, gate_id: str, *, approve: bool, reason: str) -> Gate:
        """A person's decision at a gate."""
        asked = {"decision": "approve" if approve else "deny", "reason": reason}
        return self._ask("POST", f"/v1/gates/{wire.quoted(gate_id)}/decision", asked)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        run: Callable[[dict[str, Any]], Any],
        *,
        seal: bool = False,
        wait_seconds: int | None = None,
    ) -> Any:
        """Authorizes, runs, delivers. Raises ``ToolPermissionError`` before ``run`` where the call may not pass, and gives
        what the agent may see of what ``run`` returned. An error of ``run`` is let in as its answer would be, and
        ``ToolFailed`` is raised in its place. ``run`` gets a copy of the arguments, the one that was asked about; where they
        hold stubs, it gets their values, and the token must be a connector's. Arguments that are more than JSON holds are
        refused. Where a person must decide, ``wait_seconds`` waits for them."""
        cleared = self._cleared(tool, arguments, wait_seconds)
        failed = False
        try:
            result = guarding.as_json(run(cleared))
        except (ToolPermissionError, GatewayError):
            raise
        except Exception as error:
            # What it says is content. It is let in below, since whatever is raised here would keep it as its context.
            result, failed = guarding.told(error), True
        seen = self.deliver(tool, result, seal=seal)["content"]
        if failed:
            raise ToolFailed(guarding.as_text(seen), tool=tool)
        return seen

    def answer(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        run: Callable[[dict[str, Any]], Any],
        *,
        seal: bool = False,
        wait_seconds: int | None = None,
    ) -> Any:
        """The same for a model: a refusal or a failure is an answer in words, and nothing is raised for it."""
        try:
            return self.call(tool, arguments, run, seal=seal, wait_seconds=wait_seconds)
        except (ToolPermissionError, GatewayError, ToolFailed) as error:
            return error.answer()

    def guard(self, *, name: str | None = None, seal: bool = False) -> guarding.Guard:
        """Decorates a function so that each call of it goes through the gateway as the tool of that name."""
        return guarding.Guard(self, name, seal)

    def close(self) -> None:
        """Lets go of the connection. The session stays at the gateway."""
        self._client.close()

    def __enter__(self) -> Session:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _cleared(
        self, tool: str, arguments: Mapping[str, Any], wait_seconds: int | None
    ) -> dict[str, Any]:
        """The arguments as the tool may be given them; an error where the decision is anything but an allowance."""
        asked = guarding.copied(tool, arguments)
        try:
            decision: Mapping[str, Any]
            if guarding.may_hold_stubs(asked):
                decision = self._resolved(tool, asked, wait_seconds)
            else:
                decision = self.authorize(tool, asked, wait_seconds=wait_seconds)
        except GatewayError as error:
            raise guarding.unanswered(tool, error) from error
        return guarding.cleared(tool, decision, asked)

    def _resolved(
        self, tool: str, arguments: Mapping[str, Any], wait_seconds: int | None
    ) -> Mapping[str, Any]:
        """A person's approval is good for one decision, so a call that may hold stubs is decided where they resolve."""
        try:
            decision = self.resolve(tool, arguments)
            if decision["decision"] == "hold" and "gate_id" in decision and wait_seconds is not None:
                self.gate(decision["gate_id"], wait_seconds=wait_seconds)
                decision = self.resolve(tool, arguments)
            return decision
        except GatewayError as error:
            # Only a connector may see the values; whether there are any, anyone may ask.
            if error.status != 403:
                raise
            return self.authorize(tool, arguments, wait_seconds=wait_seconds)

    def _in_session(self, method: str, *rest: str, body: Any = None) -> Any:
        return self._ask(method, wire.path(self.open(), *rest), body)

    def _ask(self, method: str, where: str, body: Any) -> Any:
        try:
            return wire.answer(self._client.request(method, where, json=body))
        except wire.UNASKED as error:
            raise wire.unreachable(error) from None
