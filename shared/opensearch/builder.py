"""The adapter of the port `IndexBuilder`: a new index beside the old one, then in its place."""

import json
import time
from collections.abc import Sequence
from http import HTTPStatus

from shared.errors import IndexUnavailable
from shared.model import EmbeddingSpace
from shared.opensearch.client import INDEX_CLOSED, EngineRefused, SearchEngine
from shared.opensearch.mapping import (
    alias_name,
    building_name,
    index_body,
    index_name,
    read_number,
)
from shared.opensearch.start import list_indices

LONGEST_QUERY_SECONDS = 60.0
"""The longest deadline that a query may have."""

_PAUSE_SECONDS = 0.5


class OpenSearchIndexBuilder:
    """Makes indices behind the aliases of `OpenSearchChunkIndex`, and flips them."""

    def __init__(
        self, engine: SearchEngine, prefix: str, *, shards: int = 1, replicas: int = 0
    ) -> None:
        self._engine = engine
        self._prefix = prefix
        self._shards = shards
        self._replicas = replicas

    def begin(self, space: EmbeddingSpace) -> None:
        """Makes an empty index, which `building` of the chunk index writes to from then on.

        One that was begun and not finished is gone on with, unless it is live already.
        """
        alias = alias_name(self._prefix, space)
        found = self._list(alias)
        begun = [name for name, aliases in found.items() if building_name(alias) in aliases]
        if any(alias not in found[name] for name in begun):
            return
        # It was put live, and then its builder died.
        self._change([_remove(each, building_name(alias)) for each in begun])
        number = 1 + max((read_number(alias, name) or 0 for name in found), default=0)
        body = index_body(building_name(alias), space, self._shards, self._replicas)
        self._engine.request("PUT", f"/{index_name(alias, number)}", body=json.dumps(body))

    def put_live(self, space: EmbeddingSpace) -> None:
        """Leads queries and writes to the index that was built, all at once.

        Raises:
            IndexUnavailable: somebody deleted it.
        """
        alias = alias_name(self._prefix, space)
        found = self._list(alias)
        built = [name for name, aliases in found.items() if building_name(alias) in aliases]
        if len(built) != 1:
            raise IndexUnavailable("The index that was built is gone; begin again.")
        old = [name for name, aliases in found.items() if alias in aliases and name not in built]
        live = {"add": {"index": built[0], "alias": alias, "is_write_index": True}}
        self._change([*(_remove(name, alias) for name in old), live])

    def finish(self, space: EmbeddingSpace) -> None:
        """Nothing is being built any more; deletes what is not live once no query reads it."""
        alias = alias_name(self._prefix, space)
        found = self._list(alias)
        built = [name for name, aliases in found.items() if building_name(alias) in aliases]
        self._change([_remove(name, building_name(alias)) for name in built])
        for name, aliases in found.items():
            if alias not in aliases:
                self._await_queries(name)
                self._engine.request("DELETE", f"/{name}")

    def list_leftovers(self, spaces: Sequence[EmbeddingSpace]) -> list[str]:
        """Returns the names of indices of these spaces that are not live."""
        found = list_indices(self._engine, self._prefix)
        aliases = [alias_name(self._prefix, space) for space in spaces]
        return sorted(
            name
            for alias in aliases
            for name in found
            if read_number(alias, name) is not None and alias not in found[name]
        )

    def _list(self, alias: str) -> dict[str, set[str]]:
        found = list_indices(self._engine, alias)
        return {name: aliases for name, aliases in found.items() if read_number(alias, name)}

    def _change(self, actions: Sequence[object]) -> None:
        if actions:
            self._engine.request("POST", "/_aliases", body=json.dumps({"actions": actions}))

    def _await_queries(self, name: str) -> None:
        """Waits until no query that began before the flip is at an index, or can be any more."""
        end = time.monotonic() + LONGEST_QUERY_SECONDS
        while time.monotonic() < end:
            time.sleep(_PAUSE_SECONDS)  # a query may have found the index, and not begun yet
            try:
                answer = self._engine.request("GET", f"/{name}/_stats/search")
            except EngineRefused as refused:
                if refused.status == HTTPStatus.NOT_FOUND or refused.kind == INDEX_CLOSED:
                    return
                raise
            search = answer["_all"]["total"]["search"]
            if not search["query_current"] and not search["open_contexts"]:
                return


def _remove(index: str, alias: str) -> object:
    return {"remove": {"index": index, "alias": alias}}
