"""`winnow search`: a query, and what answers it."""

import sys
from pathlib import Path
from typing import Any

from local.datasets import find_dataset
from local.session import open_session
from local.tables import count_dropped, explanation_table, records_table
from local.terminal import open_console, tell, write_data

SNIPPET = 300
"""Characters of a text that a terminal shows."""

MOST_DROPPED = 20


def search(folder: Path | None, dataset_name: str, body: dict[str, Any], *, as_json: bool) -> None:
    """Sends a query and shows the answer.

    Args:
        folder: the home.
        dataset_name: or its id.
        body: of POST /v1/retrieve, without the dataset.
        as_json: the API's answer goes to standard output as it came.
    """
    with open_session(folder) as client:
        dataset = find_dataset(client, dataset_name)
        wanted = body | {"dataset_ids": [dataset["id"]]}
        if as_json:
            write_data(client.post_raw("/v1/retrieve", wanted))
        else:
            show(client.post("/v1/retrieve", wanted), explain=bool(body.get("explain")))


def show(answer: dict[str, Any], *, explain: bool) -> None:
    """Writes an answer as tables; without a terminal nothing of it is cut."""
    console = open_console(sys.stdout)
    for each in answer["degraded"]:
        tell(f"Degraded, {each['channel']}: {each['reason']}")
    if not answer["records"]:
        tell("Nothing was found.")
    else:
        console.print(records_table(answer["records"], SNIPPET if console.is_terminal else None))
    if explain:
        console.print()
        dropped = MOST_DROPPED if console.is_terminal else None
        console.print(explanation_table(answer, dropped))
        tell(f"Fell out: {count_dropped(answer) or 'none'}.")
