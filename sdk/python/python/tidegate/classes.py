"""The names of classes and permissions, in the words of the wire."""

from __future__ import annotations

from enum import Enum


class DataSensitivity(str, Enum):
    """How far data may travel, from least to most restrictive. Members compare in that order."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    PII = "pii"
    SECRET = "secret"

    @classmethod
    def _missing_(cls, value: object) -> DataSensitivity | None:
        return cls.CONFIDENTIAL if value == "restricted" else None

    # Without these, members would compare as text, and "secret" would not be above "public".
    def __lt__(self, other: object) -> bool:
        return _rank(self) < _rank(DataSensitivity(other))

    def __le__(self, other: object) -> bool:
        return _rank(self) <= _rank(DataSensitivity(other))

    def __gt__(self, other: object) -> bool:
        return _rank(self) > _rank(DataSensitivity(other))

    def __ge__(self, other: object) -> bool:
        return _rank(self) >= _rank(DataSensitivity(other))


class ToolPermission(str, Enum):
    """What a tool's code may do. A tool that connects may be given public data alone, unless it declares a ceiling."""

    READ = "read"
    WRITE = "write"
    CONNECT = "connect"


_ORDER = {sensitivity: rank for rank, sensitivity in enumerate(DataSensitivity)}


def _rank(sensitivity: DataSensitivity) -> int:
    return _ORDER[sensitivity]
