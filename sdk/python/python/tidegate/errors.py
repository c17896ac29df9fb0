"""What callers catch. No message holds data: reasons are made of names and classes."""

from __future__ import annotations

from typing import Any

from tidegate._native import StateError

__all__ = ["GatewayError", "StateError", "ToolPermissionError"]


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


def _again(reason: str, tool: str, rule: str, remedy: str, retryable: bool) -> ToolPermissionError:
    return ToolPermissionError(reason, tool=tool, rule=rule, remedy=remedy, retryable=retryable)
