"""What both sorts of session share when they stand around a tool."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tidegate.errors import GatewayError, ToolPermissionError

if TYPE_CHECKING:
    from tidegate.async_session import AsyncSession
    from tidegate.session import Session


def copied(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the arguments as the gateway reads them, which nobody else can change while it or a person decides. What is
    asked about is what the tool is given, so there is no call with anything that JSON does not hold."""
    try:
        if isinstance(arguments, Mapping):
            read = json.loads(json.dumps(dict(arguments), allow_nan=False), parse_int=_whole)
            return dict(read)
    except (TypeError, ValueError, RecursionError):
        pass
    raise unreadable(tool)


def unreadable(tool: str) -> ToolPermissionError:
    """Arguments that the gateway could not look into. They are not repeated."""
    return ToolPermissionError(
        f'tool "{tool}" blocked: its arguments hold something that is no JSON',
        tool=tool,
        rule="arguments-unreadable",
        remedy="pass them by name, as texts, finite numbers, lists, dictionaries, true, false and null",
        retryable=True,
    )


def _whole(digits: str) -> int:
    """A whole number of which the gateway reads every digit."""
    number = int(digits)
    if not -(2**63) <= number < 2**64:
        raise ValueError("more digits than are read")
    return number


def cleared(tool: str, decision: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the tool may be given them. Raises unless the decision is an allowance and nothing else."""
    if decision.get("decision") == "allow" and decision.get("allowed") is True:
        if not decision.get("unresolved"):
            return dict(decision["arguments"] if "arguments" in decision else arguments)
        raise ToolPermissionError(
            f'tool "{tool}" blocked: its arguments hold stubs or handles, and this token may not see their values',
            tool=tool,
            rule="stub-unresolved",
            remedy="call it without them, or have the program use a connector's token",
            retryable=True,
        )
    raise ToolPermissionError(
        str(decision.get("reason") or f'tool "{tool}" blocked'),
        tool=tool,
        rule=str(decision.get("rule") or "unanswered"),
        remedy=str(decision.get("remedy") or "do this step without the tool"),
        retryable=bool(decision.get("retryable")),
    )


def unanswered(tool: str, error: GatewayError) -> ToolPermissionError:
    """No decision is a denial."""
    return ToolPermissionError(
        f'tool "{tool}" blocked: {error.detail}',
        tool=tool,
        rule=str(error.problem.get("type") or "gateway-unavailable"),
        remedy="use a tool of the session's manifest; if it goes on, tell an administrator",
        retryable=error.status is None or error.status >= 500,
    )


def may_hold_stubs(arguments: Any) -> bool:
    """Whether a stub or a handle could be in the arguments: every one begins with a brace."""
    if isinstance(arguments, str):
        return any(brace in arguments for brace in "{\uff5b")
    if isinstance(arguments, Mapping):
        return any(may_hold_stubs(part) for pair in arguments.items() for part in pair)
    return isinstance(arguments, (list, tuple)) and any(may_hold_stubs(part) for part in arguments)


def as_json(result: Any) -> Any:
    """A result as the gateway reads it. What is no JSON is read as its text."""
    try:
        json.dumps(result, allow_nan=False)
    except (TypeError, ValueError):
        return str(result)
    return result


def told(error: Exception) -> str:
    """What an error says. One that cannot say it says nothing."""
    try:
        return str(error)
    except Exception:
        return ""


def as_text(seen: Any) -> str:
    """What the agent may see, in one text."""
    return seen if isinstance(seen, str) else json.dumps(seen)


class Guard:
    """Wraps functions so that each call goes through a session's gateway."""

    def __init__(self, session: Session, name: str | None, seal: bool) -> None:
        self._session, self._name, self._seal = session, name, seal

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, authorized before and its result delivered after each call."""
        tool, read = _read(function, self._name)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            return self._session.call(
                tool, read(*args, **kwargs), lambda given: function(**given), seal=self._seal
            )

        return run


class AsyncGuard:
    """The same for coroutines."""

    def __init__(self, session: AsyncSession, name: str | None, seal: bool) -> None:
        self._session, self._name, self._seal = session, name, seal

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The coroutine function, authorized before and its result delivered after each call."""
        tool, read = _read(function, self._name)

        @functools.wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            return await self._session.call(
                tool, read(*args, **kwargs), lambda given: function(**given), seal=self._seal
            )

        return run


def _read(function: Callable[..., Any], name: str | None) -> tuple[str, Callable[..., dict[str, Any]]]:
    """The tool's name, and its arguments by their names, since that is how the gateway sees them."""
    signature = inspect.signature(function)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(parameter.kind not in by_name for parameter in signature.parameters.values()):
        raise TypeError("a guarded function takes each of its arguments by name")

    def read(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    return name or function.__name__, read
