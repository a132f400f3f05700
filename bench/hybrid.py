"""OpenSearch's own hybrid query, a plugin that only benchmarks use."""

from pathlib import Path

from local.account import open_to_all
from local.artifacts import Cache
from local.home import Home
from local.layout import lay_out, place
from local.pins import Artifact
from local.progress import PlainProgress

PLUGIN = Artifact(
    place="plugins/opensearch-neural-search",
    group="org.opensearch.plugin",
    name="neural-search",
    version="2.19.1.0",
    packaging="zip",
    sha256="b17ca1d774692902c58cbae102bf463970740c31d81446866e8eabd336e285aa",
    size=8_434_600,
)


def add_hybrid(folder: Path) -> None:
    """Lays out a home's OpenSearch with the plugin, before it is started."""
    home, progress = Home.open(folder), PlainProgress()
    with home.locked():
        programs = home.engines / "opensearch"
        lay_out(programs, Cache(), progress)
        plugin = programs / PLUGIN.place
        if not plugin.exists():
            place(PLUGIN, Cache().fetch([PLUGIN], progress)[PLUGIN], plugin)
            open_to_all(plugin)
