"""What callers catch. Reasons are made of names and classes; only a failed tool's words are data, as the agent may see it."""

from __future__ import annotations

from typing import Any

from tidegate._native import StateError

__all__ = ["GatewayError", "StateError", "ToolFailed", "ToolPermissionError"]


class ToolPermissionError(Exception):
    """A tool was called that may not run now; its body did not run."""

    def __init__(self, reason: str, *, tool: str, rule: str, remedy: str, retryable: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.tool = tool
        self.rule = rule
        self.remedy = remedy
        self.retryable = retryable

    def answer(self) -> str:
        """The refusal as an agent can use it: what happened, and what to do instead."""
        return f"{self.reason}. What to do instead: {self.remedy}."

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.reason, self.tool, self.rule, self.remedy, self.retryable)


class GatewayError(Exception):
    """A gateway did not do what it was asked; nothing was allowed or released."""

    def __init__(self, detail: str, *, status: int | None = None, problem: dict[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.problem = problem or {}

    def answer(self) -> str:
        """The failure as an agent can use it."""
        return f"{self.detail}. Nothing was passed on."


class ToolFailed(Exception):
    """A tool ran and raised an error. That error is gone: the text is what the agent may see of what it said."""

    def __init__(self, seen: str, *, tool: str) -> None:
        super().__init__(seen)
        self.seen = seen
        self.tool = tool

    def answer(self) -> str:
        """The failure as an agent can use it."""
        return f'tool "{self.tool}" failed: {self.seen or "it did not say why"}'

    def __reduce__(self) -> tuple[Any, ...]:
        return _failed, (self.seen, self.tool)


def _again(reason: str, tool: str, rule: str, remedy: str, retryable: bool) -> ToolPermissionError:
    return ToolPermissionError(reason, tool=tool, rule=rule, remedy=remedy, retryable=retryable)


def _failed(seen: str, tool: str) -> ToolFailed:
    return ToolFailed(seen, tool=tool)
