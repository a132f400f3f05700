from collections.abc import Mapping
from typing import Any

import pytest

from local.client import ApiRefused, Client
from local.datasets import DatasetUnusable, Embedding, check_embedding, ensure_dataset, find_dataset

ENGLISH = Embedding("local", "bge-small-en-v1.5")
HAS = {"provider": "local", "model": "bge-small-en-v1.5", "dimension": 384}


class Api(Client):
    """Datasets in a list; one may appear while it is being made by another."""

    def __init__(self, *datasets: Mapping[str, Any], race: bool = False) -> None:
        super().__init__("http://127.0.0.1:9", "k")
        self.datasets = list(datasets)
        self.race = race

    def get(self, path: str, **_: object) -> Any:
        assert path == "/v1/datasets"
        return {"datasets": self.datasets}

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        assert path == "/v1/datasets"
        if body["name"] == "refused":
            raise ApiRefused("no")
        made = {"id": "9", **body}
        self.datasets.append(made)
        if self.race:
            raise ApiRefused("Conflict")
        return made


def test_an_unknown_dataset_is_told_with_those_there_are() -> None:
    api = Api({"id": "1", "name": "b"}, {"id": "2", "name": "a"})
    assert find_dataset(api, "b")["id"] == "1"
    with pytest.raises(DatasetUnusable, match="no dataset 'x'; there are a, b"):
        find_dataset(api, "x")
    with pytest.raises(DatasetUnusable, match="there are none yet"):
        find_dataset(Api(), "x")


def test_a_missing_dataset_is_made_once() -> None:
    api = Api()
    made = ensure_dataset(api, "new", ENGLISH)
    assert ensure_dataset(api, "new", ENGLISH) == made
    assert made["embedding"] == {"provider": "local", "model": "bge-small-en-v1.5"}
    assert len(api.datasets) == 1


def test_two_that_make_it_at_once_share_it() -> None:
    assert ensure_dataset(Api(race=True), "new", ENGLISH)["id"] == "9"
    with pytest.raises(ApiRefused, match="no"):
        ensure_dataset(Api(), "refused", ENGLISH)


@pytest.mark.parametrize(
    "wanted",
    [
        Embedding("local", "bge-small-zh-v1.5"),
        Embedding("bedrock", "bge-small-en-v1.5"),
        Embedding("local", "bge-small-en-v1.5", 512),
    ],
)
def test_another_embedding_than_it_has_is_refused(wanted: Embedding) -> None:
    with pytest.raises(DatasetUnusable, match=r"has the embedding local:bge-small-en-v1.5 \(384\)"):
        check_embedding({"name": "d", "embedding": HAS}, wanted)
    with pytest.raises(DatasetUnusable, match="has the embedding none"):
        check_embedding({"name": "d", "embedding": None}, wanted)
    check_embedding({"name": "d", "embedding": HAS}, ENGLISH)
    check_embedding({"name": "d", "embedding": HAS}, Embedding(**HAS))  # type: ignore[arg-type]
