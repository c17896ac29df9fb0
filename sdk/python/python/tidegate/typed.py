"""Arguments that a framework has read into dates, models and other types of Python."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_jsonable_python

from tidegate.guarding import unreadable


def as_arguments(tool: str, arguments: Any) -> Any:
    """The arguments as the gateway reads them. The tool reads its types out of these again, so that it gets what was asked
    about."""
    try:
        return to_jsonable_python(arguments, round_trip=True)
    except Exception:
        # What a type says when it cannot be written may hold its value.
        raise unreadable(tool) from None
