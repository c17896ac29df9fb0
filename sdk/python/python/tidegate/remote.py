"""Sessions that a gateway keeps: the decorator and ``PrivateData`` by URL.

The gateway says what the session holds; the rule is applied here, by the same code, to what the decorator declares.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import httpx

from tidegate import _native, wire
from tidegate._native import Refusal, StateError, Tool, Who
from tidegate.context import DEFAULT_USER
from tidegate.errors import GatewayError


@dataclass(frozen=True)
class RemoteState:
    """A session as the gateway describes it."""

    sensitivity: str
    has_private_data: bool
    private_datasets: list[str]


class Remote:
    """A gateway by its address."""

    waits = True

    def __init__(self, url: str, token: str | None) -> None:
        self._settings = wire.settings(url, token, wire.TIMEOUT_SECONDS)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def check(self, tool: Tool, who: Who) -> Refusal | None:
        state = self._state(who)
        return _native.decide(
            tool,
            state["sensitivity"],
            state["kinds"],
            state["contamination_source"],
            state["halted"],
            state["ended"],
        )

    def state(self, who: Who) -> RemoteState:
        state = self._state(who)
        private = [each["name"] for each in state["datasets"] if each["sensitivity"] != "public"]
        return RemoteState(state["sensitivity"], state["has_private_data"], private)

    def add_dataset(self, who: Who, dataset: str, sensitivity: str) -> None:
        self._state(who)
        self._ask("POST", wire.path(who.session, "datasets"), {"name": dataset, "sensitivity": sensitivity})

    def suspend(self) -> None:
        """Lets go of its connections: a child must not read the answers of its parent."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _state(self, who: Who) -> dict[str, Any]:
        where = wire.path(who.session)
        try:
            state = self._ask("GET", where, None)
        except GatewayError as error:
            if error.status != 404:
                raise
            user = None if who.user == DEFAULT_USER else who.user
            self._ask("POST", "/v1/sessions", wire.opening(who.session, user, who.agent))
            state = self._ask("GET", where, None)
        if who.user not in (DEFAULT_USER, state["user"]):
            raise StateError("this session id belongs to another user")
        return state

    def _ask(self, method: str, where: str, body: Any) -> Any:
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(**self._settings)
            client = self._client
        try:
            return wire.answer(client.request(method, where, json=body))
        except wire.UNASKED as error:
            raise wire.unreachable(error) from None
