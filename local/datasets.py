"""The dataset that a command names, found or made."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local.client import ApiRefused, Client
from shared.errors import WinnowError


class DatasetUnusable(WinnowError):
    """There is no such dataset, or it is not as asked for."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """Which vectors a new dataset gets: `local:bge-small-en-v1.5`, `bedrock:…`.

    Attributes:
        dimension: None = the model's largest.
    """

    provider: str
    model: str
    dimension: int | None = None

    def __str__(self) -> str:
        """Returns it as the command line takes it."""
        return f"{self.provider}:{self.model}"

    def to_body(self) -> dict[str, Any]:
        """Returns it as the API takes it."""
        body = {"provider": self.provider, "model": self.model, "dimension": self.dimension}
        return {name: value for name, value in body.items() if value is not None}


def find_dataset(client: Client, name: str) -> Mapping[str, Any]:
    """Returns the dataset of a name or id; raises `DatasetUnusable`, naming those there are."""
    found = client.find_dataset(name)
    if found is None:
        names = sorted(each["name"] for each in client.get("/v1/datasets")["datasets"])
        known = f"there are {', '.join(names)}" if names else "there are none yet"
        raise DatasetUnusable(f"There is no dataset {name!r}; {known}.")
    return found


def ensure_dataset(client: Client, name: str, embedding: Embedding) -> Mapping[str, Any]:
    """Returns the dataset of a name, made with this embedding if it is new."""
    found = client.find_dataset(name)
    if found is not None:
        return found
    try:
        return dict(client.post("/v1/datasets", {"name": name, "embedding": embedding.to_body()}))
    except ApiRefused:
        found = client.find_dataset(name)  # somebody else may have made it in the meantime
        if found is None:
            raise
        return found


def check_embedding(dataset: Mapping[str, Any], wanted: Embedding) -> None:
    """Raises `DatasetUnusable` where a dataset has other vectors than were asked for."""
    has = dataset["embedding"]
    same = has and (has["provider"], has["model"]) == (wanted.provider, wanted.model)
    if not same or wanted.dimension not in {None, has["dimension"]}:
        what = f"{has['provider']}:{has['model']} ({has['dimension']})" if has else "none"
        raise DatasetUnusable(
            f"Dataset {dataset['name']!r} has the embedding {what}, which can't be changed: "
            "leave out --embedding, or name another dataset."
        )
