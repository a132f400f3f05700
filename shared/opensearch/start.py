"""What is found out of an engine before it is used."""

from http import HTTPStatus

from shared.errors import ConfigurationError
from shared.opensearch import bulk
from shared.opensearch.bulk import Outcome, Write
from shared.opensearch.client import SERVERLESS, EngineRefused, SearchEngine
from shared.opensearch.mapping import building_name, is_alias_name, read_number


def check_engine(engine: SearchEngine, prefix: str) -> None:
    """Finds out whether chunks can be kept there; writes nothing.

    Raises:
        ConfigurationError: the engine is Serverless, or an index has the name of an alias.
        IndexUnavailable: it does not answer.
    """
    refuse_serverless(engine, prefix)
    for name in list_indices(engine, prefix):
        if is_alias_name(prefix, name):
            raise plain_index(name)


def list_indices(engine: SearchEngine, prefix: str) -> dict[str, set[str]]:
    """Returns the names of all indices that begin with a prefix, with the aliases of each."""
    found = engine.request("GET", f"/{prefix}-*/_alias")
    return {name: set(index["aliases"]) for name, index in found.items()}


def find_newest(engine: SearchEngine, alias: str) -> str | None:
    """Returns the index that was last made for an alias, one that is being built left out."""
    found = list_indices(engine, alias)
    made = {
        number: name
        for name, aliases in found.items()
        if (number := read_number(alias, name)) and building_name(alias) not in aliases
    }
    return made[max(made)] if made else None


def plain_index(alias: str) -> ConfigurationError:
    """Returns the error of an index that has the name of an alias."""
    return ConfigurationError(f"An index is named {alias}, where Winnow needs an alias: delete it.")


def refuse_serverless(engine: SearchEngine, prefix: str) -> None:
    """Asks, by a write that can't succeed, whether the engine takes ids of ours; writes nothing.

    Raises:
        ConfigurationError: when it refuses them, as Serverless vector collections do.
    """
    probe = Write("probe", is_delete=False, lines=b'{"index":{"_id":"probe"}}\n{}\n')
    path = f"/{prefix}-probe/_bulk"
    try:
        answer = engine.request("POST", path, body=probe.lines, params=bulk.ALIAS_ONLY)
    except EngineRefused as refused:
        if refused.status == HTTPStatus.BAD_REQUEST:
            raise ConfigurationError(SERVERLESS) from refused
        raise
    if bulk.read_results(answer, [probe])[0].outcome is Outcome.REFUSED:
        raise ConfigurationError(SERVERLESS)
