"""The contract, in process on virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent.frontends.base import Ears, Frontend

pytest.register_assert_rewrite("tests.agent.frontends.contract")

from tests.agent.frontends.contract import EarsContract, FrontendContract, Host  # noqa: E402

pytestmark = pytest.mark.unit


@pytest.fixture
def host() -> Host:
    @asynccontextmanager
    async def in_process(
        frontend: Frontend, ears: Ears | None = None, slots: int = 4
    ) -> AsyncIterator[tuple[Frontend, Ears | None]]:
        yield frontend, ears

    return in_process  # type: ignore[return-value]


class TestFrontendInProcess(FrontendContract):
    pass


class TestEarsInProcess(EarsContract):
    pass
