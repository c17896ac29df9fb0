"""Tidegate: labels what a session has seen, and keeps tools from carrying it out.

``PrivateData`` and ``@tool_permission`` work in process, on the store of a gateway's data directory, or with a gateway by its
address; ``Session`` and ``AsyncSession`` are the rest of the gateway's API.
"""

from tidegate.async_session import AsyncSession
from tidegate.backend import configure
from tidegate.classes import DataSensitivity, ToolPermission
from tidegate.context import environment, get_session_id, get_user_id, set_user_session, user_session
from tidegate.errors import GatewayError, StateError, ToolFailed, ToolPermissionError
from tidegate.permissions import get_tool_permissions, tool_permission
from tidegate.private_data import AsyncPrivateData, PrivateData
from tidegate.session import Session

__all__ = [
    "AsyncPrivateData",
    "AsyncSession",
    "DataSensitivity",
    "GatewayError",
    "PrivateData",
    "Session",
    "StateError",
    "ToolFailed",
    "ToolPermission",
    "ToolPermissionError",
    "configure",
    "environment",
    "get_session_id",
    "get_tool_permissions",
    "get_user_id",
    "set_user_session",
    "tool_permission",
    "user_session",
]
