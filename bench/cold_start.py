"""How long a cold start takes, and a first query after it: `python -m bench.cold_start`.

Starts every built function some times in the Lambda Runtime Interface Emulator and reads its INIT
REPORT: all imports and what the handler's module does. Then sends retrieve, each time started anew,
a hybrid query, in English or in Chinese: the whole time until its answer, INIT included. Both once
alone, with an OpenAI-compatible embedder, and once as deployed, where requests to OpenSearch are
signed, the bootstrap key comes from Secrets Manager and the vector from Bedrock. Those are doubles
on this machine; the stores are real. The database takes its password, no token of IAM.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3

from bench.examples import KEY, QUERIES, check_answer, ingesting, make_event
from local.stack import start
from shared.model import Dataset, EmbeddingSpace
from shared.models.bedrock import TITAN
from shared.settings import Settings
from tests.artifacts import Artifact, build_artifacts, build_emulator
from tests.servers.aws import AWS_ENVIRONMENT, running_aws
from tests.servers.bedrock import BedrockServer
from tests.servers.emulator import Emulator, running_emulator
from tests.servers.openai import OpenAIServer

SECRET = "winnow"  # noqa: S105, its name


@dataclass(frozen=True)
class Place:
    """Where functions run.

    Attributes:
        environment: their variables.
        dataset: what queries ask.
    """

    environment: Mapping[str, str]
    dataset: Dataset


def main() -> None:
    """Prints one row a function, then one a query."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    artifacts = build_artifacts()
    with running_places() as (alone, deployed):
        print("| function | MB | INIT ms: median (min to max) | as deployed |")
        print("|---|---|---|---|")
        for name, artifact in artifacts.items():
            starts = [partial(_start, artifact, place) for place in (alone, deployed)]
            row = [name, f"{artifact.size / 1e6:.0f}", *_measure(starts, runs)]
            print(f"| {' | '.join(row)} |", flush=True)
        print("\n| first hybrid query | INIT and answer ms: median (min to max) | as deployed |")
        print("|---|---|---|")
        for language, query in QUERIES.items():
            queries = [
                partial(_ask, artifacts["retrieve"], place, query) for place in (alone, deployed)
            ]
            print(f"| {' | '.join([language, *_measure(queries, runs)])} |", flush=True)


def _measure(tasks: Sequence[Callable[[], float]], runs: int) -> list[str]:
    # In turns, so that what else the machine does falls on all.
    turns = [[task() for task in tasks] for _ in range(runs)]
    return [
        f"{statistics.median(times):.0f} ({min(times):.0f} to {max(times):.0f})"
        for times in zip(*turns, strict=True)
    ]


def _start(artifact: Artifact, place: Place) -> float:
    with _running(artifact, place) as emulator:
        emulator.invoke({})  # any event will do: the start comes before it
        return emulator.init_ms


def _ask(artifact: Artifact, place: Place, query: str) -> float:
    event = make_event(query, place.dataset)
    with _running(artifact, place) as emulator:
        begun = time.perf_counter()
        answer = emulator.invoke(event)
        took = (time.perf_counter() - begun) * 1000
    check_answer(answer)
    return took


@contextmanager
def _running(artifact: Artifact, place: Place) -> Iterator[Emulator]:
    executable = build_emulator()
    with (
        TemporaryDirectory() as folder,
        running_emulator(artifact, executable, place.environment, Path(folder)) as emulator,
    ):
        yield emulator


@contextmanager
def running_places() -> Iterator[tuple[Place, Place]]:
    """Yields the functions' places, alone and as deployed, on stores that hold the examples."""
    with ExitStack() as running:
        home = Path(running.enter_context(TemporaryDirectory()))
        home.chmod(0o755)  # as root, the engines run as another user
        stack = running.enter_context(start(home))
        common = {
            "WINNOW_DATABASE_URL": stack.database_url,
            "WINNOW_OPENSEARCH_URL": stack.opensearch_url,
            "WINNOW_CONTENT_URL": "s3://bucket/content",
            "WINNOW_QUEUE_URL": "https://localhost:1/queue",
        }
        openai = running.enter_context(OpenAIServer(256).running())
        bedrock = running.enter_context(BedrockServer().running())
        aws_url = running.enter_context(running_aws())
        _keep_secret(aws_url)
        examples = running.enter_context(ingesting(_read(common)))
        yield (
            Place(
                common
                | {
                    "WINNOW_BOOTSTRAP_KEY": KEY,
                    "WINNOW_OPENAI_BASE_URL": f"{openai.url}/v1",
                },
                examples.put(EmbeddingSpace("openai_compatible", "bench", 256)),
            ),
            Place(
                common
                | AWS_ENVIRONMENT
                | {
                    "AWS_ENDPOINT_URL": aws_url,
                    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url,
                    "WINNOW_OPENSEARCH_AUTH": "sigv4",
                    "WINNOW_BOOTSTRAP_KEY_SECRET": SECRET,
                },
                examples.put(EmbeddingSpace("bedrock", TITAN, 256)),
            ),
        )


def _read(environment: Mapping[str, str]) -> Settings:
    values = {name.removeprefix("WINNOW_").lower(): v for name, v in environment.items()}
    return Settings.model_validate(values)


def _keep_secret(url: str) -> None:
    client = boto3.client(
        "secretsmanager",
        endpoint_url=url,
        region_name=AWS_ENVIRONMENT["AWS_REGION"],
        aws_access_key_id=AWS_ENVIRONMENT["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=AWS_ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
    )
    client.create_secret(Name=SECRET, SecretString=KEY)


if __name__ == "__main__":
    main()
