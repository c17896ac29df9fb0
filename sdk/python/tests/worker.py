"""A process of its own that does as it is told, one line at a time: ``call SESSION FILE``, ``tag SESSION``, ``die SESSION``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tidegate import PrivateData, ToolPermission, ToolPermissionError, tool_permission, user_session


@tool_permission(ToolPermission.CONNECT)
def send(mark: str) -> None:
    with Path(mark).open("a") as file:
        file.write("ran\n")


def do(word: str, session: str, *rest: str) -> str:
    with user_session("alice", session):
        if word == "call":
            try:
                send(*rest)
            except ToolPermissionError as refusal:
                return refusal.rule
            return "ran"
        PrivateData().add_private_dataset("d")
        if word == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return "tagged"


if __name__ == "__main__":
    for line in sys.stdin:
        print(do(*line.split()), flush=True)
