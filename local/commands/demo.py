"""`winnow demo`: the example corpus ingested, and its queries answered."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from local.bars import Watcher, watching
from local.client import Client
from local.commands.ingest import describe, summarize
from local.conditions import describe_filter
from local.datasets import Embedding, ensure_dataset, find_dataset
from local.errors import EngineError
from local.files import find_files
from local.home import Home
from local.languages import CHINESE, ENGLISH
from local.sending_files import send_files
from local.service import run_service
from local.tables import count_dropped, explanation_table, records_table
from local.terminal import open_console, tell
from shared.opensearch.client import SearchEngine, connect

CHECKOUT = Path(__file__).parents[2]
EXAMPLES = CHECKOUT / "examples"
HOME = CHECKOUT / ".winnow"
DATASETS = {"examples-en": ("en", ENGLISH), "examples-zh": ("zh", CHINESE)}
"""Name → folder of the examples, and model."""

SNIPPET = 180
MOST_DROPPED = 6
WIDTH_OF_PIPE = 120


def demo(home: Path | None) -> bool:
    """Runs the demo to its end; returns whether everything could be ingested.

    Args:
        home: the folder that keeps everything; .winnow in the checkout when not given.
    """
    if not EXAMPLES.is_dir():
        raise EngineError(f"There are no examples in {EXAMPLES}: run the demo in a checkout.")
    opened = Home.open(home or HOME)
    console = open_console(sys.stdout, WIDTH_OF_PIPE)
    queries = json.loads((EXAMPLES / "queries.json").read_text(encoding="utf-8"))
    with ExitStack() as cleanup:
        with watching() as watcher:
            service = cleanup.enter_context(run_service(opened, watcher))
            client = Client(service.url, service.key)
            cleanup.callback(client.close)
            results = [_ingest(client, name, watcher) for name in DATASETS]
        for result in results:
            tell(summarize(result))
        engine = connect(service.stores["opensearch_url"])
        cleanup.callback(engine.close)
        for name in DATASETS:
            _ask(client, engine, {"dataset": name, "request": {"query": "loads the models"}})
        for number, query in enumerate(queries, 1):
            _show(console, f"{number}. {query['title']}", query, _ask(client, engine, query))
    return not any(result["failures"] for result in results)


def _ingest(client: Client, name: str, watcher: Watcher) -> dict[str, Any]:
    folder, model = DATASETS[name]
    selection = find_files([EXAMPLES / folder])
    dataset = ensure_dataset(client, name, Embedding("local", model))
    task = f"Ingesting into {name}"
    outcomes = send_files(client, dataset["id"], selection.files, task, watcher)
    return describe(dataset, outcomes, selection)


def _ask(client: Client, engine: SearchEngine, query: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer, with how many searches the engine carried out for it."""
    dataset = find_dataset(client, query["dataset"])
    request = {**query["request"], "dataset_ids": [dataset["id"]], "explain": True}
    before = _count_searches(engine)
    answer = client.post("/v1/retrieve", request)
    return dict(answer) | {"searches": _count_searches(engine) - before}


def _count_searches(engine: SearchEngine) -> int:
    """Returns how many searches OpenSearch itself has counted since it started."""
    nodes = engine.request("GET", "/_nodes/stats/indices/search")["nodes"].values()
    return sum(node["indices"]["search"]["query_total"] for node in nodes)


def _show(
    console: Console, heading: str, query: Mapping[str, Any], answer: Mapping[str, Any]
) -> None:
    request = query["request"]
    console.print()
    console.print(Text(heading, style="bold"))
    console.print(query["note"])
    console.print(f"  asked: {request['query']}")
    console.print(f"  of: {query['dataset']}, by {', '.join(_settings(request))}")
    if "metadata_filtering" in request:
        console.print(f"  where: {describe_filter(request['metadata_filtering'])}")
    console.print()
    if answer["records"]:
        console.print(records_table(answer["records"], SNIPPET))
        console.print()
    if request.get("explain"):
        console.print(explanation_table(answer, MOST_DROPPED))
        console.print()
    for line in _remarks(request, answer):
        console.print(f"  {line}")


def _settings(request: Mapping[str, Any]) -> Iterator[str]:
    yield request["search_method"]
    fusion = request.get("fusion", {})
    if "method" in fusion:
        yield fusion["method"]
    if "weights" in fusion:
        yield "weights " + " / ".join(f"{weight}" for weight in fusion["weights"].values())
    yield f"top {request['top_k']}"
    if "score_threshold" in request:
        yield f"threshold {request['score_threshold']}"


def _remarks(request: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[str]:
    applied = answer["applied_filter"]
    if applied:
        yield f"Documents that pass the filter: {applied['matched_documents']}."
    if answer["searches"]:
        fell_out = count_dropped(answer)
        yield f"Records: {len(answer['records'])}. Candidates that fell out: {fell_out or 'none'}."
    else:
        yield "No search was sent: OpenSearch counted none."
    searches, total = answer["searches"], answer["timings_ms"]["total"]
    if searches:
        yield f"Searches that OpenSearch counted: {searches}. Whole query: {total:.0f} ms."
    if request.get("explain"):
        steps = ", ".join(f"{name} {ms:.0f}" for name, ms in answer["timings_ms"].items())
        yield f"Milliseconds: {steps}."
