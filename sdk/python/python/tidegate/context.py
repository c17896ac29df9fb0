"""Whose session the running code belongs to.

A context variable says so: tasks of asyncio and ``asyncio.to_thread`` carry it along, plain threads do not. A context that was
not told takes the only session its process has named in any way; where it has named several, taking one would be a
guess, and the call is refused. The same goes for a process that ``multiprocessing`` spawned and that was told nothing.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tidegate._native import StateError, Who

DEFAULT_USER = "default_user"
DEFAULT_SESSION = "default_session"
DEFAULT_AGENT = "default"

_current: ContextVar[Who | None] = ContextVar("tidegate_session", default=None)
_known: set[tuple[str, str]] = set()
_only: Who | None = None
_lock = threading.Lock()


def set_user_session(user_id: str, session_id: str, agent_id: str | None = None) -> None:
    """From here on, this context works in that session."""
    _current.set(_told(user_id, session_id, agent_id))


@contextmanager
def user_session(user_id: str, session_id: str, agent_id: str | None = None) -> Iterator[None]:
    """Within the block, this context works in that session."""
    token = _current.set(_told(user_id, session_id, agent_id))
    try:
        yield
    finally:
        _current.reset(token)


def get_user_id() -> str:
    """The user whose session this context works in."""
    return current().user


def get_session_id() -> str:
    """The session this context works in."""
    return current().session


def environment() -> dict[str, str]:
    """What to add to a child process's environment so that it works in the same session."""
    who = current()
    return {"TIDEGATE_USER": who.user, "TIDEGATE_SESSION": who.session, "TIDEGATE_AGENT": who.agent}


def current() -> Who:
    """The session this context works in; an error where it cannot be told."""
    return _current.get() or _untold()


def named(user_id: str | None, session_id: str | None) -> Who:
    """A session by name; what is left out is the current one's."""
    if user_id is not None and session_id is not None:
        return _told(user_id, session_id, None)
    who = current()
    if user_id is None and session_id is None:
        return who
    user = who.user if user_id is None else user_id
    return _told(user, who.session if session_id is None else session_id, who.agent)


def _told(user_id: str, session_id: str, agent_id: str | None) -> Who:
    who = Who(user_id, session_id, _agent(agent_id))
    with _lock:
        _remember(who)
    return who


def _remember(who: Who) -> None:
    global _only
    # Two are as many as several, so the set need not grow.
    if len(_known) < 2:
        _known.add((who.user, who.session))
    _only = who if len(_known) == 1 else None


def _untold() -> Who:
    with _lock:
        if _only is not None:
            return _only
        if _known:
            raise StateError(
                "it cannot be told which of several sessions this code works in: run it in the caller's context "
                "(contextvars.copy_context().run), or call tidegate.set_user_session first"
            )
        session = os.environ.get("TIDEGATE_SESSION")
        if session is None and multiprocessing.parent_process() is not None:
            raise StateError(
                "it cannot be told which session this process works in: call tidegate.set_user_session in it, or set "
                "TIDEGATE_USER and TIDEGATE_SESSION (see tidegate.environment)"
            )
        user = os.environ.get("TIDEGATE_USER", DEFAULT_USER)
        who = Who(user, DEFAULT_SESSION if session is None else session, _agent(None))
        _remember(who)
        return who


def _agent(agent_id: str | None) -> str:
    return agent_id or os.environ.get("TIDEGATE_AGENT", DEFAULT_AGENT)


def _forget_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)
