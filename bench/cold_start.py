"""How long each function takes to start, and how large it is: `python -m bench.cold_start`.

Starts every built function some times in the Lambda Runtime Interface Emulator and reads its INIT
REPORT: all imports and what the handler's module does. Without .pyc files that could be written,
as in Lambda. Once alone, and once as deployed, where OpenSearch is signed for and the bootstrap key
comes from Secrets Manager, here a double of it.
"""

import argparse
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3

from tests.artifacts import Artifact, build_artifacts, build_emulator
from tests.servers.aws import AWS_ENVIRONMENT, running_aws
from tests.servers.emulator import running_emulator

ALONE = {
    "WINNOW_DATABASE_URL": "postgresql+pg8000://winnow@localhost:1/winnow",
    "WINNOW_OPENSEARCH_URL": "https://localhost:1",
    "WINNOW_CONTENT_URL": "s3://bucket/content",
    "WINNOW_QUEUE_URL": "https://localhost:1/queue",
}
SECRET = "winnow"  # noqa: S105, its name


def main() -> None:
    """Prints one row a function."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    print("| function | MB | INIT ms: median (min to max) | as deployed |")
    print("|---|---|---|---|")
    with running_aws() as url:
        deployed = ALONE | AWS_ENVIRONMENT | _deploy(url)
        for name, artifact in build_artifacts().items():
            # In turns, so that what else the machine does falls on both.
            turns = [(_start(artifact, ALONE), _start(artifact, deployed)) for _ in range(runs)]
            figures = [_sum_up(times) for times in zip(*turns, strict=True)]
            print(f"| {name} | {artifact.size / 1e6:.0f} | {' | '.join(figures)} |", flush=True)


def _deploy(url: str) -> dict[str, str]:
    client = boto3.client(
        "secretsmanager",
        endpoint_url=url,
        region_name=AWS_ENVIRONMENT["AWS_REGION"],
        aws_access_key_id=AWS_ENVIRONMENT["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=AWS_ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
    )
    client.create_secret(Name=SECRET, SecretString="k" * 48)
    return {
        "AWS_ENDPOINT_URL": url,
        "WINNOW_OPENSEARCH_AUTH": "sigv4",
        "WINNOW_BOOTSTRAP_KEY_SECRET": SECRET,
    }


def _sum_up(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.0f} ({min(times):.0f} to {max(times):.0f})"


def _start(artifact: Artifact, environment: Mapping[str, str]) -> float:
    executable = build_emulator()
    with (
        TemporaryDirectory() as folder,
        running_emulator(artifact, executable, environment, Path(folder)) as emulator,
    ):
        emulator.invoke({})  # any event will do: the start comes before it
        return emulator.init_ms


if __name__ == "__main__":
    main()
