"""What the decorator costs: an allowed call beside the same call undecorated, in one run."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import tidegate
from tidegate import PrivateData, ToolPermission, ToolPermissionError, tool_permission

CALLS = 20_000
ROUNDS = 15


def plain(value: int) -> int:
    return value


async def plain_later(value: int) -> int:
    return value


connects = tool_permission(ToolPermission.CONNECT)
guarded, guarded_later = connects(plain), connects(plain_later)


def timed(call: Callable[[int], object], calls: int = CALLS) -> float:
    """Microseconds a call, in a loop."""
    since = time.perf_counter()
    for number in range(calls):
        call(number)
    return (time.perf_counter() - since) / calls * 1e6


def timed_later(call: Callable[[int], object]) -> float:
    async def loop() -> float:
        since = time.perf_counter()
        for number in range(CALLS):
            await call(number)
        return (time.perf_counter() - since) / CALLS * 1e6

    return asyncio.run(loop())


def say(what: str, measure: Callable[[], float]) -> None:
    rounds = sorted(measure() for _ in range(ROUNDS))
    print(f"{what:<58} {statistics.median(rounds):8.3f}   {rounds[0]:8.3f} .. {rounds[-1]:8.3f}")


def with_writers(measure: Callable[[], float]) -> float:
    """While another thread tags other sessions all the time, so that nothing stays as it was for long."""
    stop = threading.Event()

    def tag() -> None:
        number = 0
        while not stop.is_set():
            PrivateData("bench", f"other-{number}").add_private_dataset("d")
            number += 1

    writer = threading.Thread(target=tag)
    writer.start()
    try:
        return measure()
    finally:
        stop.set()
        writer.join()


def refused() -> float:
    def call(number: int) -> None:
        try:
            guarded(number)
        except ToolPermissionError:
            return
        raise AssertionError("a call passed that must not")

    with tidegate.user_session("bench", "private"):
        return timed(call, 50)


def synced(place: Path) -> float:
    """The disk's own price for one small durable write."""
    with (place / "probe").open("wb") as file:
        since = time.perf_counter()
        for _ in range(50):
            file.write(b"x" * 512)
            file.flush()
            os.fdatasync(file.fileno())
        return (time.perf_counter() - since) / 50 * 1e6


with tempfile.TemporaryDirectory() as directory:
    place = Path(directory)
    tidegate.configure(data_dir=place / "state")
    tidegate.set_user_session("bench", "clean")
    print(f"{'microseconds a call, ' + str(ROUNDS) + ' rounds':<58} {'median':>8}   {'least':>8} .. {'most':>8}")
    say("undecorated", lambda: timed(plain))
    say("decorated, allowed", lambda: timed(guarded))
    say("decorated, allowed, while another thread tags", lambda: with_writers(lambda: timed(guarded)))
    say("coroutine, undecorated", lambda: timed_later(plain_later))
    say("coroutine, decorated, allowed", lambda: timed_later(guarded_later))
    PrivateData("bench", "private").add_private_dataset("d")
    say("decorated, refused (on the record before it is raised)", refused)
    say("one durable write of 512 bytes on this disk", lambda: synced(place))
    tidegate.configure(data_dir=place / "closed")
