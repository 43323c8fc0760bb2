"""The contract against a worker on a Unix socket and on TCP loopback, on real time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.frontends.base import Ears, Frontend
from agent.frontends.remote import connect_worker
from agent.frontends.server import serve_worker

pytest.register_assert_rewrite("tests.agent.frontends.contract")

from tests.agent.frontends.contract import EarsContract, FrontendContract, Host  # noqa: E402

pytestmark = pytest.mark.peer


@pytest.fixture(params=["unix", "tcp"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    address = f"unix:{tmp_path}/w.sock" if request.param == "unix" else "127.0.0.1:0"

    @asynccontextmanager
    async def worker(frontend: Frontend, ears: Ears | None = None, slots: int = 4) -> AsyncIterator[tuple[Frontend, Ears]]:
        async with serve_worker(frontend, ears, address, slots) as served, connect_worker(served.address) as remote:
            yield remote.frontend, remote.ears

    return worker  # type: ignore[return-value]


class TestFrontendOverGrpc(FrontendContract):
    pass


class TestEarsOverGrpc(EarsContract):
    pass
