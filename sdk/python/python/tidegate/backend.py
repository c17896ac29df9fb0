"""Where the state of sessions is: a data directory used in process, or a gateway by its address."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from tidegate import _native
from tidegate._native import NotReady, Refusal, StateError, Tool, Who

T = TypeVar("T")


class State(Protocol):
    """What a session holds."""

    @property
    def sensitivity(self) -> str: ...
    @property
    def has_private_data(self) -> bool: ...
    @property
    def private_datasets(self) -> list[str]: ...


class Backend(Protocol):
    """The three questions the package asks about a session. Each answer is what holds now, in every process."""

    #: Whether an answer may take a while, so that coroutines ask in a thread.
    waits: bool

    def check(self, tool: Tool, who: Who) -> Refusal | None: ...
    def state(self, who: Who) -> State: ...
    def add_dataset(self, who: Who, dataset: str, sensitivity: str) -> None: ...
    def suspend(self) -> None: ...


class Embedded:
    """A data directory, used in process beside any number of other processes and gateways."""

    waits = False

    def __init__(self, data_dir: Path, private_data_dir: Path | None) -> None:
        self._place = _native.Place(data_dir, private_data_dir)

    def check(self, tool: Tool, who: Who) -> Refusal | None:
        try:
            return self._place.check(tool, who)
        except NotReady:
            return self._ready(who, lambda: self._place.check(tool, who))

    def state(self, who: Who) -> State:
        return self._ready(who, lambda: self._place.state(who))

    def add_dataset(self, who: Who, dataset: str, sensitivity: str) -> None:
        self._ready(who, lambda: self._place.add_dataset(who, dataset, sensitivity))

    def suspend(self) -> None:
        """Closes everything until it is needed again."""
        self._place.close()

    def _ready(self, who: Who, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except NotReady:
            pass
        # Whoever forks holds the lock from before to after, so nothing is opened in between.
        with _lock:
            self._place.open()
            self._place.open_session(who)
            try:
                return ask()
            except NotReady as error:
                raise StateError("the session cannot be opened") from error


def configure(
    *,
    data_dir: str | os.PathLike[str] | None = None,
    url: str | None = None,
    token: str | None = None,
    private_data_dir: str | os.PathLike[str] | None = None,
) -> None:
    """Says where the state of sessions is: a data directory, or a gateway's address and a token.

    What is left out is read from ``TIDEGATE_URL``, ``TIDEGATE_TOKEN``, ``TIDEGATE_DATA_DIR`` and ``PRIVATE_DATA_DIR``; without
    any of them it is the data directory that the gateway uses by default.
    """
    if data_dir is not None and url is not None:
        raise ValueError("give a data directory or a gateway's address, not both")
    chosen = _chosen(data_dir, url, token, private_data_dir)
    global _backend
    with _lock:
        if _backend is not None:
            _backend.suspend()
        _backend = chosen


def backend() -> Backend:
    """The backend in force."""
    global _backend
    if _backend is None:
        with _lock:
            if _backend is None:
                _backend = _chosen(None, None, None, None)
    return _backend


def _chosen(
    data_dir: str | os.PathLike[str] | None,
    url: str | None,
    token: str | None,
    private_data_dir: str | os.PathLike[str] | None,
) -> Backend:
    if data_dir is None:
        url = url or os.environ.get("TIDEGATE_URL")
        if url is not None:
            from tidegate.remote import Remote

            return Remote(url, token)
        data_dir = os.environ.get("TIDEGATE_DATA_DIR") or _default_data_dir()
    private_data_dir = private_data_dir or os.environ.get("PRIVATE_DATA_DIR")
    return Embedded(Path(data_dir), None if private_data_dir is None else Path(private_data_dir))


def _default_data_dir() -> Path:
    """Where the gateway keeps state when nobody says."""
    base = os.environ.get("XDG_DATA_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "share"
    return home / "tidegate"


_lock = threading.RLock()
_backend: Backend | None = None


def _before_fork() -> None:
    # INVARIANT (nothing open is forked): closed here, opened again on both sides when it is needed.
    _lock.acquire()
    if _backend is not None:
        _backend.suspend()


def _after_fork_in_parent() -> None:
    _lock.release()


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
