"""The `winnow` command line. Data goes to standard output, all else to standard error.

Exit codes: 0 all well, 1 some failed, 2 wrong usage, 130 stopped.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from local.datasets import Embedding
from local.terminal import clean, tell
from shared.errors import WinnowError
from shared.metadata.tokens import WhereRefused
from shared.metadata.where import parse_where
from shared.model import SearchMethod

FAILED, MISUSED, STOPPED = 1, 2, 130
MOST_TOP_K = 100  # the API's own, whose module is too slow to load for --help
MOST_QUERIES = 1_500
"""Of a judged collection; more hardly narrow an interval."""

app = typer.Typer(
    name="winnow",
    help="Hybrid retrieval on one machine: exact filters, scores that mean something.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _read_path(text: str) -> Path:
    if not text:  # it would be the working folder
        raise typer.BadParameter("is empty; is a variable not set?")
    return Path(text)


HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Folder that keeps everything; your own when not given.",
        parser=_read_path,
        metavar="PATH",
    ),
]

EmbeddingOption = Annotated[
    str | None,
    typer.Option(
        help="Of a new dataset, as provider:model; a local model of the texts' language "
        "when not given."
    ),
]
DimensionOption = Annotated[int | None, typer.Option(help="Of the vectors.", min=1)]
DatasetOption = Annotated[str, typer.Option("--dataset", help="Name of the dataset.")]


def _check_query(query: str) -> str:
    if not query.strip():
        raise typer.BadParameter("is blank")
    return query


def _check_threshold(threshold: float | None) -> float | None:
    if threshold is not None and not -1 <= threshold <= 1:  # neither is what is no number
        raise typer.BadParameter(f"{threshold} is not in the range -1<=x<=1")
    return threshold


@app.command()
def serve(
    port: Annotated[int, typer.Option(help="Port of the API.", min=0, max=65535)] = 8000,
    home: HomeOption = None,
) -> None:
    """Serve the API, with the ingest loop and the embedded engines."""
    from local.commands.serve import serve  # noqa: PLC0415, each command loads what it needs

    serve(home, port)


@app.command()
def stop(home: HomeOption = None) -> None:
    """Stop what runs in a home."""
    from local.commands.serve import stop  # noqa: PLC0415

    stop(home)


@app.command()
def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files and folders.", metavar="PATH...", parser=_read_path),
    ],
    dataset: DatasetOption,
    embedding: EmbeddingOption = None,
    dimension: DimensionOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    home: HomeOption = None,
) -> None:
    """Ingest files, each with the metadata in FILE.metadata.json beside it.

    Documents of files that are there no more stay.
    """
    from local.commands.ingest import ingest  # noqa: PLC0415

    wanted = _read_embedding(embedding, dimension)
    if not ingest(home, paths, dataset, wanted, as_json=as_json):
        raise typer.Exit(FAILED)


@app.command()
def search(  # noqa: PLR0917, options are given by name
    query: Annotated[
        str, typer.Argument(help="What is asked.", metavar="QUERY", callback=_check_query)
    ],
    dataset: DatasetOption,
    where: Annotated[
        str | None,
        typer.Option(help="Only documents like this: lang is en and (pages > 5 or tags in [a, b])"),
    ] = None,
    method: Annotated[SearchMethod | None, typer.Option(help="Which channels are asked.")] = None,
    top_k: Annotated[
        int | None, typer.Option(help="The most records.", min=1, max=MOST_TOP_K)
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="The least score, -1 to 1.", callback=_check_threshold)
    ] = None,
    explain: Annotated[bool, typer.Option(help="Show every figure behind the scores.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's answer.")] = False,
    home: HomeOption = None,
) -> None:
    """Ask a dataset, and show what answers."""
    from local.commands.search import search  # noqa: PLC0415

    given = {
        "query": query,
        "metadata_filtering": None if where is None else _read_where(where),
        "search_method": method,
        "top_k": top_k,
        "score_threshold": threshold,
        "explain": explain,
    }
    body = {name: value for name, value in given.items() if value is not None}
    search(home, dataset, body, as_json=as_json)


@app.command()
def reconcile(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count; write nothing, exit 1 if they differ.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    home: HomeOption = None,
) -> None:
    """Compare both stores chunk by chunk, and repair the search index from PostgreSQL."""
    from local.commands.reconcile import reconcile  # noqa: PLC0415

    if not reconcile(home, dry_run=dry_run, as_json=as_json):
        raise typer.Exit(FAILED)


@app.command()
def reindex(
    rechunk: Annotated[
        bool,
        typer.Option("--rechunk", help="Cut documents anew instead, as their datasets say by now."),
    ] = False,
    dataset: Annotated[
        str | None, typer.Option(help="With --rechunk: only documents of this one.")
    ] = None,
    home: HomeOption = None,
) -> None:
    """Build every search index anew from the database, beside the one that serves meanwhile."""
    from local.commands import reindex as command  # noqa: PLC0415

    if rechunk:
        command.rechunk(home, dataset)
    elif dataset is not None:
        raise typer.BadParameter("--dataset belongs to --rechunk")
    elif not command.reindex(home):
        raise typer.Exit(FAILED)


@app.command()
def redrive(
    dataset: Annotated[
        str | None, typer.Option(help="Only documents of this one; all when not given.")
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(help="URL of a dead-letter queue on SQS, whose messages go back instead."),
    ] = None,
    home: HomeOption = None,
) -> None:
    """Try the documents again that ended in error, or move a dead-letter queue's messages back."""
    from local.commands.redrive import redrive_documents, redrive_queue  # noqa: PLC0415

    if dead_letters is None:
        if not redrive_documents(home, dataset):
            raise typer.Exit(FAILED)
    elif dataset is not None:
        raise typer.BadParameter("--dataset and --dead-letters don't go together")
    else:
        redrive_queue(dead_letters)


@app.command("eval")
def evaluate(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help="Each holds docs.jsonl, queries.jsonl and qrels.tsv.",
            metavar="DIR...",
            parser=_read_path,
        ),
    ],
    limit: Annotated[
        int, typer.Option(help="Only the first N queries of each.", min=1)
    ] = MOST_QUERIES,
    method: Annotated[
        list[str] | None, typer.Option(help="May be given several times; all when not given.")
    ] = None,
    embedding: EmbeddingOption = None,
    dimension: DimensionOption = None,
    json_to: Annotated[
        str | None, typer.Option("--json", help="File for the figures; - prints them.")
    ] = None,
    home: HomeOption = None,
) -> None:
    """Measure how well judged collections are answered, and how fast."""
    from local.commands.evaluate import evaluate  # noqa: PLC0415
    from local.evaluation.methods import METHODS  # noqa: PLC0415

    wanted = _read_embedding(embedding, dimension)
    if unknown := [name for name in method or () if name not in METHODS]:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(METHODS)}")
    if not evaluate(home, folders, method, limit=limit, embedding=wanted, json_to=json_to):
        raise typer.Exit(FAILED)


@app.command("eval-filter")
def evaluate_filter(
    questions: Annotated[
        Path | None,
        typer.Argument(
            help="JSON lines of questions; ours when not given.", metavar="FILE", parser=_read_path
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure how well the chat model of the settings finds filters in questions."""
    from local.commands.evaluate_filter import evaluate_filter  # noqa: PLC0415
    from local.evaluation.questions import QUESTIONS  # noqa: PLC0415

    if not evaluate_filter(questions or QUESTIONS, as_json=as_json):
        raise typer.Exit(FAILED)


@app.command()
def demo(
    home: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps everything; .winnow when not given.",
            parser=_read_path,
            metavar="PATH",
        ),
    ] = None,
) -> None:
    """Ingest the example corpus and answer its queries, then stop everything."""
    from local.commands.demo import demo  # noqa: PLC0415

    if not demo(home):
        raise typer.Exit(FAILED)


def _read_embedding(text: str | None, dimension: int | None) -> Embedding | None:
    if text is None:
        if dimension is not None:
            raise typer.BadParameter("--dimension belongs to --embedding")
        return None
    provider, colon, model = text.partition(":")
    if not (provider and colon and model):
        raise typer.BadParameter(f"{text!r} is not provider:model, as in local:bge-small-en-v1.5")
    return Embedding(provider, model, dimension)


def _read_where(text: str) -> dict[str, Any]:
    try:
        return {"mode": "manual", **parse_where(text)}
    except WhereRefused as refusal:
        tell(f"--where can't be read. {refusal}")
        raise typer.Exit(MISUSED) from refusal


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, _interrupt)
    for closed in ("stdout", "stderr"):
        if getattr(sys, closed) is None:  # by the caller, who wants to hear nothing
            setattr(sys, closed, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a file name may be no text
    _leave(_run())


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)  # once is enough: what runs is being stopped
    raise KeyboardInterrupt


def _run() -> int:
    if wrong := [argument for argument in sys.argv if not _is_text(argument)]:
        tell(f"{clean(wrong[0])} is not UTF-8.")
        return MISUSED
    try:
        app()
    except (WinnowError, OSError) as error:
        tell(str(error))
        return FAILED
    except SystemExit as end:  # typer always ends so
        if end.code == STOPPED:
            tell("Stopped.")
        return end.code if isinstance(end.code, int) else FAILED
    return 0


def _is_text(argument: str) -> bool:
    """Tells whether an argument's bytes were UTF-8: those that were not came in as surrogates."""
    return not any("\ud800" <= each <= "\udfff" for each in argument)


def _leave(code: int) -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = code or FAILED
    # Threads that still embed a long document are not waited for: the outbox has their work.
    os._exit(code)
