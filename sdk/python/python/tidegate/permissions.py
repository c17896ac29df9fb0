"""The check in front of a tool's body: on every call, before the first line of it runs."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, TypeVar

from tidegate._native import Refusal, StateError, Tool
from tidegate.backend import backend
from tidegate.classes import DataSensitivity, ToolPermission
from tidegate.context import current
from tidegate.errors import GatewayError, ToolPermissionError

F = TypeVar("F", bound=Callable[..., Any])


def tool_permission(
    *permissions: ToolPermission, ceiling: DataSensitivity | None = None, name: str | None = None
) -> Callable[[F], F]:
    """Declares what a tool's code may do, and checks the current session before each call.

    A tool that connects may be given public data alone, unless it declares a ``ceiling``: once the session holds private
    data, calling it raises ``ToolPermissionError`` and its body does not run. Functions, methods, coroutines, generators and
    asynchronous generators are checked when their body starts; generators again each time they go on.
    """
    if not permissions or not all(isinstance(permission, str) for permission in permissions):
        raise TypeError("name the permissions: @tool_permission(ToolPermission.READ)")
    asked = [ToolPermission(permission).value for permission in permissions]
    highest = None if ceiling is None else DataSensitivity(ceiling).value

    def decorate(function: F) -> F:
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(decorate(function.__func__))
        if inspect.isclass(function) or not callable(function):
            raise TypeError("tool_permission decorates functions and methods")
        called = name or getattr(function, "__name__", None) or type(function).__name__
        tool = Tool(str(called), asked, highest)
        guarded = _guarded(function, tool)
        guarded.__tool_permissions__ = frozenset(ToolPermission(each) for each in asked)
        return guarded

    return decorate


def get_tool_permissions(tool: Callable[..., Any]) -> frozenset[ToolPermission]:
    """What a decorated tool declared; nothing where it was not decorated."""
    return getattr(tool, "__tool_permissions__", frozenset())


def _guarded(function: Callable[..., Any], tool: Tool) -> Any:
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            await check_soon(tool)
            body = function(*args, **kwargs)
            try:
                value = await anext(body)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        await check_soon(tool)
                        value = await body.athrow(error)
                    else:
                        await check_soon(tool)
                        value = await body.asend(sent)
            except StopAsyncIteration:
                return
            finally:
                await body.aclose()

        return stream

    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            check(tool)
            body = function(*args, **kwargs)
            try:
                value = next(body)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        check(tool)
                        value = body.throw(error)
                    else:
                        check(tool)
                        value = body.send(sent)
            except StopIteration as stop:
                return stop.value
            finally:
                body.close()

        return generate

    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):

        @functools.wraps(function)
        async def run_later(*args: Any, **kwargs: Any) -> Any:
            await check_soon(tool)
            return await function(*args, **kwargs)

        return run_later

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        check(tool)
        return function(*args, **kwargs)

    return run


def check(tool: Tool) -> None:
    """Raises ``ToolPermissionError`` unless the tool may run in the current session now."""
    try:
        refusal = backend().check(tool, current())
    except (StateError, GatewayError) as error:
        raise _unanswered(tool, error) from error
    if refusal is not None:
        raise _refused(refusal)


async def check_soon(tool: Tool) -> None:
    """The same for coroutines: where the answer may take a while, others go on meanwhile."""
    if not backend().waits:
        check(tool)
        return
    await asyncio.to_thread(check, tool)


def _refused(refusal: Refusal) -> ToolPermissionError:
    return ToolPermissionError(
        refusal.reason,
        tool=refusal.tool,
        rule=refusal.rule,
        remedy=refusal.remedy,
        retryable=refusal.retryable,
    )


def _unanswered(tool: Tool, error: Exception) -> ToolPermissionError:
    return ToolPermissionError(
        f'tool "{tool.name}" blocked: {error}',
        tool=tool.name,
        rule="state-unavailable",
        remedy="wait a moment and try again; if it goes on, tell an administrator",
        retryable=True,
    )
