"""What a session holds, and saying that it holds more."""

from __future__ import annotations

import asyncio

from tidegate.backend import backend
from tidegate.classes import DataSensitivity
from tidegate.context import named


class PrivateData:
    """The private data of one session: the current one, or the one that is named.

    Every answer comes from the store, so it is the same in every process; every dataset is durable when the call returns.
    Nothing here lowers a session: that is an administrator's reset.
    """

    def __init__(self, user_id: str | None = None, session_id: str | None = None) -> None:
        self._who = named(user_id, session_id)

    @property
    def user_id(self) -> str:
        return self._who.user

    @property
    def session_id(self) -> str:
        return self._who.session

    def add_private_dataset(
        self, dataset_name: str, sensitivity: DataSensitivity = DataSensitivity.CONFIDENTIAL
    ) -> None:
        """Registers a dataset. Known already, it can only be raised."""
        backend().add_dataset(self._who, dataset_name, DataSensitivity(sensitivity).value)

    @property
    def has_private_data(self) -> bool:
        """Whether anything above public has entered."""
        return backend().state(self._who).has_private_data

    @property
    def sensitivity(self) -> DataSensitivity:
        """The highest class of what has entered."""
        return DataSensitivity(backend().state(self._who).sensitivity)

    def get_private_datasets(self) -> list[str]:
        """The datasets above public, in the order they were added."""
        return list(backend().state(self._who).private_datasets)


class AsyncPrivateData:
    """The same for coroutines: nobody else waits while a dataset reaches the disk or a gateway answers."""

    def __init__(self, user_id: str | None = None, session_id: str | None = None) -> None:
        self._data = PrivateData(user_id, session_id)

    @property
    def user_id(self) -> str:
        return self._data.user_id

    @property
    def session_id(self) -> str:
        return self._data.session_id

    async def add_private_dataset(
        self, dataset_name: str, sensitivity: DataSensitivity = DataSensitivity.CONFIDENTIAL
    ) -> None:
        """Registers a dataset. Known already, it can only be raised."""
        await asyncio.to_thread(self._data.add_private_dataset, dataset_name, sensitivity)

    async def has_private_data(self) -> bool:
        """Whether anything above public has entered."""
        return await asyncio.to_thread(lambda: self._data.has_private_data)

    async def sensitivity(self) -> DataSensitivity:
        """The highest class of what has entered."""
        return await asyncio.to_thread(lambda: self._data.sensitivity)

    async def get_private_datasets(self) -> list[str]:
        """The datasets above public, in the order they were added."""
        return await asyncio.to_thread(self._data.get_private_datasets)
