import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import make_url
from urllib3.util import parse_url

from shared.postgres.engine import connect
from tests.e2e.lambdas import SamLocal, running_emulators
from tests.e2e.world import World, make_environment
from tests.servers.aws import running_aws
from tests.servers.relay import running_relay


@pytest.fixture(scope="module")
def world(
    database_url: str,
    opensearch_url: str,
    module_index_prefix: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """The built functions around the engines: in emulators, or in SAM's containers if asked."""
    engine = connect(database_url, timeout=5)
    with ExitStack() as running:
        running.callback(engine.dispose)
        aws_url = running.enter_context(running_aws())
        # Where `make sam-local` runs this, it names the address that containers know us by.
        host = os.environ.get("WINNOW_SAM_LOCAL_HOST")
        urls = {"database_url": database_url, "opensearch_url": opensearch_url, "aws_url": aws_url}
        if host is not None:
            urls = {name: _relay(url, host, running) for name, url in urls.items()}
        environment = make_environment(**urls, index_prefix=module_index_prefix)
        if host is None:
            folder: Path = tmp_path_factory.mktemp("emulators")
            lambdas = running.enter_context(running_emulators(environment, folder))
            world = World(lambdas, engine, aws_url)
        else:
            world = World(SamLocal(environment, host), engine, aws_url)
        world.prepare()
        yield world


def _relay(url: str, address: str, running: ExitStack) -> str:
    if url.startswith("postgresql"):
        target = make_url(url)
        port = running.enter_context(
            running_relay(address, target.host or "localhost", target.port or 5432)
        )
        # A database elsewhere is reached by TLS alone, so it keeps the name of this machine.
        there = target.set(host="localhost", port=port)
        return there.render_as_string(hide_password=False)
    parts = parse_url(url)
    assert parts.host is not None
    assert parts.port is not None
    port = running.enter_context(running_relay(address, parts.host, parts.port))
    return f"http://{address}:{port}"
