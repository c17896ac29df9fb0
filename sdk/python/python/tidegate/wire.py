"""How a gateway is asked, whether one waits for it or not: addresses, bodies, answers and problems."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from tidegate.errors import GatewayError

#: How long one question may take.
TIMEOUT_SECONDS = 30.0

#: What is raised where nothing was asked. Text that is no Unicode cannot be sent, and the error about it holds all of it.
UNASKED = (httpx.HTTPError, UnicodeError)


def settings(url: str | None, token: str | None, timeout: float) -> dict[str, Any]:
    """What a client is made of. Proxies and credentials of the environment are left alone: a token goes to its gateway."""
    url = url or os.environ.get("TIDEGATE_URL")
    token = token or os.environ.get("TIDEGATE_TOKEN")
    if not url or not token:
        raise ValueError("a gateway needs an address and a token: set TIDEGATE_URL and TIDEGATE_TOKEN, or pass them")
    return {
        "base_url": url,
        "headers": {"Authorization": f"Bearer {token}"},
        "timeout": timeout,
        "trust_env": False,
    }


def opening(session_id: str | None, user: str | None, agent: str | None) -> dict[str, str]:
    """The body that opens a session, or finds it again."""
    asked = {"session_id": session_id, "user": user, "agent": agent}
    return {field: value for field, value in asked.items() if value is not None}


def path(session_id: str, *rest: str) -> str:
    """The address of something in a session."""
    return "/".join(["/v1/session", quoted(session_id), *rest])


def quoted(part: str) -> str:
    """One part of an address, whatever is in it."""
    return quote(part, safe="")


def call(tool: str, arguments: Mapping[str, Any] | None, wait_seconds: int | None) -> dict[str, Any]:
    """The body that asks about a call."""
    asked: dict[str, Any] = {"tool": tool, "arguments": dict(arguments or {})}
    if wait_seconds is not None:
        asked["wait_seconds"] = wait_seconds
    return asked


def answer(response: httpx.Response) -> Any:
    """What the gateway answered; its problem, raised, when it is one."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if response.is_success and body is not None:
        return body
    problem = body if isinstance(body, dict) else {}
    detail = problem.get("detail") or problem.get("title") or f"the gateway answered {response.status_code}"
    raise GatewayError(str(detail), status=response.status_code, problem=problem)


def unreachable(error: httpx.HTTPError | UnicodeError) -> GatewayError:
    """A gateway that cannot be asked allows nothing. What was sent is not repeated."""
    return GatewayError(f"the gateway cannot be asked: {type(error).__name__}")
