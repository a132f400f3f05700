"""Documentation that is not tested rots: what can be checked against the code is."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel
from typer.main import get_command

from functions.manage import bodies
from functions.manage.routers import make_routers
from functions.retrieve.app import make_router
from functions.retrieve.contracts.dify import DifyRetrieveBody
from functions.retrieve.contracts.native import RetrieveBody
from local.cli import app
from shared.errors import DocumentRefused
from shared.http.problems import STATUS
from shared.metadata.operators import SPELLINGS
from shared.metadata.parse import MOST_CONDITIONS, MOST_LEVELS, MOST_LISTED, parse_filter
from shared.settings import Settings

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
SOURCE = (
    "functions",
    "shared",
    "local",
    "bench",
    "tests/conftest.py",
    "tests/soak",
    "template.yaml",
)

BODIES: dict[str, type[BaseModel]] = {
    "POST /v1/retrieve": RetrieveBody,
    "POST /retrieval": DifyRetrieveBody,
    "POST /v1/datasets": bodies.DatasetBody,
    "PATCH /v1/datasets/{dataset_id}": bodies.DatasetPatch,
    "POST /v1/datasets/{dataset_id}/metadata-fields": bodies.FieldBody,
    "PATCH /v1/datasets/{dataset_id}/metadata-fields/{name}": bodies.FieldPatch,
    "POST /v1/datasets/{dataset_id}/documents": bodies.DocumentBody,
    "POST /v1/datasets/{dataset_id}/documents/batch": bodies.BatchBody,
    "POST /v1/datasets/{dataset_id}/documents/uploads": bodies.UploadBody,
    "PATCH /v1/documents/{document_id}": bodies.DocumentPatch,
    "PATCH /v1/chunks/{chunk_id}": bodies.ChunkPatch,
}
_BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_CURL = re.compile(
    r"curl http://127\.0\.0\.1:8000(?P<path>\S+).*?-d '(?P<body>\{.*?\})'$",
    re.MULTILINE | re.DOTALL,
)
_SPAN = re.compile(r"`([^`\n]+)`")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def list_blocks(path: Path, language: str) -> Iterator[tuple[str, str]]:
    """Yields what stands after a block's language, and its text."""
    for block in _BLOCK.finditer(read(path)):
        first, _, rest = block["info"].partition(" ")
        if first == language:
            yield rest, block["text"]


def list_code(path: Path) -> Iterator[str]:
    """Yields every span and every line of shell."""
    for _, text in list_blocks(path, "sh"):
        yield from text.splitlines()
    yield from _SPAN.findall(_BLOCK.sub("", read(path)))


def list_rows(path: Path, heading: str) -> Iterator[list[str]]:
    """Yields the cells of the rows of the table that has this first heading."""
    inside = False
    for line in read(path).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if "|" in line else []
        if cells and cells[0].strip() == heading:
            inside = True
        elif inside and not cells:
            inside = False
        elif inside and not line.startswith("|---"):
            yield cells


def slug(title: str) -> str:
    """Returns the anchor of a heading, as repositories show it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def write_default(name: str) -> str:
    field = Settings.model_fields[name]
    if field.is_required():
        return "required"
    match field.default:
        case None:
            return "unset"
        case "":
            return "empty"
        case bool():
            return str(field.default).lower()
        case float():
            return f"{field.default:g}"
        case _:
            return str(field.default)


def test_every_setting_is_described_with_its_default() -> None:
    rows = {row[0]: row[1] for row in list_rows(DOCS / "settings.md", "variable")}
    expected = {f"`WINNOW_{name.upper()}`": write_default(name) for name in Settings.model_fields}
    local_alone = rows.keys() - expected.keys()
    assert local_alone == {"`WINNOW_OPENSEARCH_HEAP`"}
    assert {name: rows.get(name) for name in expected} == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_variable_that_is_named_exists(page: Path) -> None:
    named = set(re.findall(r"WINNOW_[A-Z_]+[A-Z]", read(page)))
    known = {f"WINNOW_{name.upper()}" for name in Settings.model_fields}
    files = [file for part in SOURCE for file in [ROOT / part, *(ROOT / part).rglob("*.py")]]
    sources = "".join(read(file) for file in files if file.is_file())
    assert {name for name in named - known if name not in sources} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_named_exists(page: Path) -> None:
    commands: dict[str, Any] = getattr(get_command(app), "commands", {})
    for code in list_code(page):
        called = re.match(r"(?:\.venv/bin/|uv run )?winnow ([a-z][\w-]*)(.*)", code)
        if called is None:
            continue
        assert called[1] in commands, code
        options = {name for each in commands[called[1]].params for name in each.opts}
        assert set(re.findall(r"(?<=\s)--[a-z-]+", called[2])) <= options, code


def test_the_changelog_names_the_commands_there_are() -> None:
    line = next(each for each in read(ROOT / "CHANGELOG.md").splitlines() if "`winnow`:" in each)
    commands: dict[str, Any] = getattr(get_command(app), "commands", {})
    assert set(_SPAN.findall(line)) - {"winnow"} == commands.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    makefiles = read(ROOT / "Makefile") + read(ROOT / "build.mk")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefiles, re.MULTILINE))
    named = {found for code in list_code(page) for found in re.findall(r"^make ([a-z-]+)", code)}
    assert named <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_module_that_is_run_exists(page: Path) -> None:
    for code in list_code(page):
        for module in re.findall(r"python -m ((?:bench|layers|local)\.[\w.]+)", code):
            assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file(), code


def test_every_error_has_the_status_that_is_documented() -> None:
    documented = {row[0].strip("`"): int(row[1]) for row in list_rows(DOCS / "api.md", "error")}
    assert documented == {error.__name__: status for error, status in STATUS.items()}


def test_every_reason_of_a_refused_document_is_documented() -> None:
    known = re.findall(r"\w+", str(DocumentRefused.__doc__).partition("one of")[2])
    listed = read(DOCS / "api.md").partition("one of these in `error_code`:")[2].partition("\n\n")
    assert _SPAN.findall(listed[0]) == known


def test_every_route_is_documented() -> None:
    nothing: Any = None
    routers = [*make_routers(nothing, None), make_router(nothing, lambda: None)]
    routes = {
        f"{method} {route.path_format}"
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    documented = [row[0].strip("`") for row in list_rows(DOCS / "api.md", "route")]
    assert len(documented) == len(set(documented))
    assert set(documented) == routes
    assert set(BODIES) <= routes


def test_every_spelling_of_an_operator_is_documented() -> None:
    rows = list_rows(DOCS / "semantics.md", "operator")
    documented = [spelling for row in rows for spelling in _SPAN.findall(row[0])]
    assert sorted(documented) == sorted(SPELLINGS)


def test_the_limits_of_a_filter_are_documented() -> None:
    limits = f"{MOST_CONDITIONS} conditions, {MOST_LEVELS} levels or {MOST_LISTED:,} listed values"
    assert limits in " ".join(read(DOCS / "semantics.md").split())


def list_requests() -> Iterator[Any]:
    for page in (ROOT / "README.md", DOCS / "api.md"):
        for number, (info, text) in enumerate(list_blocks(page, "json"), start=1):
            if info != "answer":
                yield pytest.param(info, text, id=f"{page.name}-{number}")
        for _, text in list_blocks(page, "sh"):
            for call in _CURL.finditer(text):
                yield pytest.param(f"POST {call['path']}", call["body"], id=f"{page.name}-curl")


REQUESTS = list(list_requests())


@pytest.mark.parametrize(("route", "body"), REQUESTS)
def test_every_request_is_one(route: str, body: str) -> None:
    sent = json.loads(body)
    model = BODIES[route]
    read_body = model.model_validate(sent)
    assert read_body.model_dump(mode="json", exclude_unset=True).keys() == sent.keys()
    if isinstance(read_body, RetrieveBody) and read_body.metadata_filtering is not None:
        asked = read_body.metadata_filtering
        found = parse_filter(asked.logical_operator, asked.conditions, pointer="")
        assert (found is None) == (asked.mode == "automatic")


def test_the_readme_and_the_tour_show_requests() -> None:
    assert {str(each.values[0]) for each in REQUESTS} >= {
        "POST /v1/retrieve",
        "POST /v1/datasets",
        "POST /v1/datasets/{dataset_id}/documents",
        "PATCH /v1/documents/{document_id}",
    }
    assert any(each.id == "README.md-curl" for each in REQUESTS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_answer_is_json(page: Path) -> None:
    for info, text in list_blocks(page, "json"):
        if info == "answer":
            json.loads(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _BLOCK.sub("", read(page))):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        assert found.is_relative_to(ROOT), target
        if anchor:
            titles = re.findall(r"^#+ (.+)$", _BLOCK.sub("", read(found)), re.MULTILINE)
            assert anchor in map(slug, titles), target


def test_every_page_is_linked_to() -> None:
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s]+)\)", read(page))
    }
    assert [page for page in PAGES if page not in linked and page.name != "README.md"] == []


def test_decisions_are_numbered_and_complete() -> None:
    records = sorted((DOCS / "adr").glob("*.md"))
    for number, record in enumerate(records, start=1):
        assert record.name.startswith(f"{number:04}-")
        text = read(record)
        assert text.startswith(f"# {number}. ")
        assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == [
            "Context",
            "Decision",
            "Consequences",
        ]


def test_the_licence_is_the_one_that_is_named() -> None:
    assert 'license = { text = "Apache-2.0" }' in read(ROOT / "pyproject.toml")
    assert "Apache License" in read(ROOT / "LICENSE")
    assert "END OF TERMS AND CONDITIONS" in read(ROOT / "LICENSE")
