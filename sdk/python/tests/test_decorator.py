"""Everything that can be decorated: the body runs when the session is clean and never when it is private."""

from __future__ import annotations

import asyncio
import functools
import inspect
import pickle
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import tidegate
from tidegate import (
    AsyncPrivateData,
    DataSensitivity,
    PrivateData,
    StateError,
    ToolPermission,
    ToolPermissionError,
    get_tool_permissions,
    tool_permission,
)

ran: list[str] = []
connects = tool_permission(ToolPermission.WRITE, ToolPermission.CONNECT)


@connects
def function(text: str) -> str:
    ran.append(text)
    return text


@connects
async def coroutine(text: str) -> str:
    ran.append(text)
    return text


@connects
def generator(text: str) -> Iterator[str]:
    ran.append(text)
    yield text


@connects
async def stream(text: str) -> AsyncIterator[str]:
    ran.append(text)
    yield text


class Mailer:
    @connects
    def method(self, text: str) -> str:
        ran.append(text)
        return text

    @connects
    @staticmethod
    def static(text: str) -> str:
        ran.append(text)
        return text

    @classmethod
    @connects
    def of_class(cls, text: str) -> str:
        ran.append(text)
        return text

    @connects
    async def later(self, text: str) -> str:
        ran.append(text)
        return text

    def __call__(self, text: str) -> str:
        ran.append(text)
        return text


async def drain(items: AsyncIterator[str]) -> str:
    return "".join([item async for item in items])


CALLS: dict[str, Callable[[str], str]] = {
    "function": function,
    "coroutine": lambda text: asyncio.run(coroutine(text)),
    "generator": lambda text: "".join(generator(text)),
    "stream": lambda text: asyncio.run(drain(stream(text))),
    "method": lambda text: Mailer().method(text),
    "static": lambda text: Mailer.static(text),
    "class method": lambda text: Mailer.of_class(text),
    "method later": lambda text: asyncio.run(Mailer().later(text)),
    "callable": connects(Mailer()),
    "partial": connects(functools.partial(Mailer().__call__)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_body_runs_only_while_the_session_is_clean(name: str) -> None:
    call = CALLS[name]
    ran.clear()
    assert call("before") == "before"
    PrivateData().add_private_dataset("d", DataSensitivity.INTERNAL)
    with pytest.raises(ToolPermissionError) as caught:
        call("after")
    assert ran == ["before"]
    assert caught.value.rule == "label-above-ceiling"
    assert "internal_ip (from d)" in caught.value.reason
    assert caught.value.remedy and not caught.value.retryable


def test_a_generator_does_not_go_on_in_a_private_session() -> None:
    steps: list[int] = []

    @connects
    def upload() -> Iterator[int]:
        for step in range(3):
            steps.append(step)
            yield step

    running = upload()
    assert next(running) == 0
    PrivateData().add_private_dataset("d")
    with pytest.raises(ToolPermissionError):
        next(running)
    assert steps == [0] and list(running) == []


def test_a_stream_does_not_go_on_in_a_private_session() -> None:
    steps: list[int] = []

    @connects
    async def upload() -> AsyncIterator[int]:
        for step in range(3):
            steps.append(step)
            yield step

    async def use() -> None:
        running = upload()
        assert await anext(running) == 0
        await AsyncPrivateData().add_private_dataset("d")
        with pytest.raises(ToolPermissionError):
            await anext(running)

    asyncio.run(use())
    assert steps == [0]


def test_a_generator_is_as_it_was() -> None:
    @connects
    def echo() -> Iterator[Any]:
        got = yield "first"
        try:
            yield got
        except KeyError:
            yield "caught"
        return "done"

    running = echo()
    assert next(running) == "first"
    assert running.send("sent") == "sent"
    assert running.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration) as stop:
        next(running)
    assert stop.value.value == "done"


@pytest.mark.parametrize(
    ("permissions", "ceiling", "level", "passes"),
    [
        ([ToolPermission.READ], None, "secret", True),
        ([ToolPermission.READ, ToolPermission.WRITE], None, "secret", True),
        ([ToolPermission.CONNECT], None, "public", True),
        ([ToolPermission.CONNECT], None, "internal", False),
        ([ToolPermission.CONNECT], DataSensitivity.INTERNAL, "internal", True),
        ([ToolPermission.CONNECT], DataSensitivity.INTERNAL, "confidential", False),
        ([ToolPermission.WRITE], DataSensitivity.CONFIDENTIAL, "pii", False),
    ],
)
def test_the_rule(permissions: list[ToolPermission], ceiling: Any, level: str, passes: bool) -> None:
    tool = tool_permission(*permissions, ceiling=ceiling, name="sender")(lambda: "ran")
    PrivateData().add_private_dataset("d", DataSensitivity(level))
    if passes:
        assert tool() == "ran"
    else:
        with pytest.raises(ToolPermissionError, match='tool "sender" blocked'):
            tool()


def test_a_decorated_function_keeps_its_face() -> None:
    assert function.__name__ == "function"
    assert list(inspect.signature(function).parameters) == ["text"]
    assert inspect.iscoroutinefunction(coroutine) and inspect.isasyncgenfunction(stream)
    assert get_tool_permissions(function) == {ToolPermission.WRITE, ToolPermission.CONNECT}
    assert get_tool_permissions(len) == frozenset()


@pytest.mark.parametrize("misuse", [lambda: tool_permission(), lambda: tool_permission(len), lambda: connects(Mailer)])
def test_misuse_is_an_error_at_once(misuse: Callable[[], Any]) -> None:
    with pytest.raises(TypeError):
        misuse()


def test_a_refusal_can_be_sent_to_another_process() -> None:
    PrivateData().add_private_dataset("d")
    with pytest.raises(ToolPermissionError) as caught:
        function("x")
    again = pickle.loads(pickle.dumps(caught.value))
    assert vars(again) == vars(caught.value) and str(again) == str(caught.value)
    assert again.answer().startswith(again.reason)


def test_no_state_is_a_refusal(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("")
    tidegate.configure(data_dir=tmp_path / "file")
    ran.clear()
    with pytest.raises(ToolPermissionError) as caught:
        function("x")
    assert caught.value.rule == "state-unavailable" and ran == []


def test_state_on_a_server_is_not_looked_for_in_the_directory(place: Any) -> None:
    place.mkdir()
    (place / "state-on-server").touch()
    tidegate.configure(data_dir=place)
    ran.clear()
    with pytest.raises(ToolPermissionError) as caught:
        function("x")
    assert caught.value.rule == "state-unavailable" and ran == []
    with pytest.raises(StateError, match="TIDEGATE_URL"):
        PrivateData("alice", "s").add_private_dataset("d")


def test_a_session_of_another_user_is_refused() -> None:
    PrivateData("alice", "s").add_private_dataset("d")
    with pytest.raises(tidegate.StateError, match="another user"):
        PrivateData("bob", "s").has_private_data


@pytest.mark.parametrize("name", ["", "../x", ".hidden", "a b", "x" * 200])
def test_names_stay_inside(name: str) -> None:
    with pytest.raises(ValueError):
        PrivateData("alice", name).has_private_data
