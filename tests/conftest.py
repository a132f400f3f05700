"""The real engines, for every test that needs them. A missing engine is a failure, never a skip."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import urllib3
from hypothesis import Phase, settings
from sqlalchemy import create_engine, make_url, text

from local import stack
from tests.servers.aws import AWS_ENVIRONMENT, running_aws

settings.register_profile("tests", deadline=None)  # how long something takes is never asserted
settings.load_profile("tests")
# For `make mutants`: the same examples each time, and none shrunk.
settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)


@dataclass(frozen=True)
class Engines:
    """Where the two servers of this test run listen."""

    database_url: str
    opensearch_url: str


@pytest.fixture(scope="session")
def engines() -> Iterator[Engines]:
    """Both engines, started once; WINNOW_DATABASE_URL and WINNOW_OPENSEARCH_URL name others."""
    home = Path(tempfile.mkdtemp(prefix="winnow-tests-"))
    home.chmod(0o755)  # as root, the engines run as another user
    with stack.start(
        home,
        database_url=os.environ.get("WINNOW_DATABASE_URL"),
        opensearch_url=os.environ.get("WINNOW_OPENSEARCH_URL"),
        heap=os.environ.get("WINNOW_OPENSEARCH_HEAP", "512m"),
    ) as running:
        yield Engines(running.database_url, running.opensearch_url)
    shutil.rmtree(home)  # not reached when they can't run: then their logs are needed


@pytest.fixture(scope="session")
def opensearch_url(engines: Engines) -> str:
    return engines.opensearch_url


@pytest.fixture(scope="module")
def aws() -> Iterator[str]:
    """The URL of a server that speaks S3 and SQS, with what lets clients in set."""
    with running_aws() as url, pytest.MonkeyPatch.context() as patch:
        for name, value in AWS_ENVIRONMENT.items():
            patch.setenv(name, value)
        yield url


@pytest.fixture(scope="module")
def database_url(engines: Engines) -> Iterator[str]:
    """An empty database of this module's own."""
    name = f"test_{uuid.uuid4().hex}"
    server = create_engine(engines.database_url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    url = make_url(engines.database_url).set(database=name)
    yield url.render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    server.dispose()


@pytest.fixture
def index_prefix(opensearch_url: str) -> Iterator[str]:
    """A prefix for the names of indices and aliases; indices with it are deleted afterwards."""
    prefix = f"t{uuid.uuid4().hex[:12]}"
    yield prefix
    delete_indices(opensearch_url, prefix)


@pytest.fixture(scope="module")
def module_index_prefix(opensearch_url: str) -> Iterator[str]:
    """The same for all tests of a module."""
    prefix = f"t{uuid.uuid4().hex[:12]}"
    yield prefix
    delete_indices(opensearch_url, prefix)


def delete_indices(url: str, prefix: str) -> None:
    """Deletes every index whose name begins with the prefix."""
    with urllib3.PoolManager() as pool:
        listed = pool.request("GET", f"{url}/_cat/indices/{prefix}*?format=json&h=index")
        for index in listed.json():
            pool.request("DELETE", f"{url}/{index['index']}")
