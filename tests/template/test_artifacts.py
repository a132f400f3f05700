"""The built functions, looked at as Lambda does."""

import json
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path

import pytest

from layers.lock import LAYERS, make_requirements, read_packages
from tests.artifacts import FUNCTIONS, ROOT, SAM_FOLDER, Artifact
from tests.files.office import write_docx, write_pptx, write_xlsx
from tests.files.pdf import encrypt, show, write_pdf

MOST_BYTES = 200_000_000
"""Lambda takes 250 MB of function and layers; the rest is room to grow."""

WARNINGS = ("-W", "error", "-W", "ignore:There is no current event loop")
"""Mangum asks for an event loop at import, which Python 3.13 deprecates."""

ENVIRONMENT = {
    "WINNOW_DATABASE_URL": "postgresql+pg8000://winnow@localhost:1/winnow",
    "WINNOW_OPENSEARCH_URL": "http://localhost:1",
    "WINNOW_CONTENT_URL": "s3://bucket/content",
    "WINNOW_QUEUE_URL": "http://localhost:1/queue",
}
UNCHECKED = (1).to_bytes(4, "little")
"""The flag of a .pyc file that Python takes without a look at its source."""

CHINESE = {"jieba", "rjieba"}
LOADED_WHEN_NEEDED = {
    "retrieve": {*CHINESE, "boto3", "botocore.session", "onnxruntime", "tokenizers", "alembic"},
    "manage": {*CHINESE, "boto3", "botocore.session", "opensearchpy", "Stemmer", "alembic"},
    "ingest": {*CHINESE, "boto3", "botocore.session", "onnxruntime", "tokenizers", "fastapi"},
    "reconcile": {*CHINESE, "boto3", "botocore.session", "fastapi", "alembic"},
    "migrate": {*CHINESE, "boto3", "botocore.session", "opensearchpy", "Stemmer", "fastapi"},
}
IMPORT_ALL = """
import sys
import {handler}
print(*sys.modules)
import {others}
import boto3
"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_of_it_imports_with_lambdas_path_alone_and_late_where_it_takes_long(
    artifacts: dict[str, Artifact], name: str
) -> None:
    handler, function = artifacts[name].handler.rsplit(".", 1)
    assert function == "lambda_handler"
    code = IMPORT_ALL.format(handler=handler, others=", ".join(_modules(artifacts[name])))
    loaded = artifacts[name].python(code, ENVIRONMENT, *WARNINGS).split()
    assert handler in loaded
    assert not LOADED_WHEN_NEEDED[name].intersection(loaded)


def _modules(artifact: Artifact) -> list[str]:
    folder = artifact.folders[0]
    return [
        ".".join(file.relative_to(folder).with_suffix("").parts)
        for file in sorted(folder.rglob("*.py"))
        # What Alembic loads, it loads by itself.
        if file.parent.name != "versions" and file.name not in {"__init__.py", "env.py"}
    ]


READ_ALL = """
import json, pathlib
from functions.ingest.formats.options import Options
from functions.ingest.reader import FileReader
from shared.files.media import find_media_type, split_media_type
reader = FileReader(Options())
for file in sorted(pathlib.Path({folder!r}).iterdir()):
    data = file.read_bytes()
    format_, charset = split_media_type(find_media_type(file.name, "", data))
    document = reader.read(format_, lambda: data, charset)
    print(json.dumps([file.name, document.text, document.encoding]))
"""


def test_ingest_reads_every_format_with_what_is_shipped(
    artifacts: dict[str, Artifact], tmp_path: Path
) -> None:
    files = {
        "a.csv": b"a,b\n1,needle\n",
        "b.docx": write_docx("needle"),
        "c.eml": b"Subject: x\n\nneedle",
        "d.html": "<p>needle, 退款需要七个工作日".encode("gbk"),
        "e.json": b'"needle"',
        "f.pdf": encrypt(write_pdf([show("needle")]), "", "owner", "AES-256"),
        "g.pptx": write_pptx("needle"),
        "h.xlsx": write_xlsx(["needle"]),
        "j.md": b"---\ntitle: x\n---\n# needle",
        "i.csv": "a,b\n1,needle à peine déjà reçu\n".encode("cp1252"),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    printed = artifacts["ingest"].python(READ_ALL.format(folder=str(tmp_path)), {})
    read = [json.loads(line) for line in printed.splitlines()]
    assert [name for name, _, _ in read] == sorted(files)
    assert all("needle" in text for _, text, _ in read)
    assert [encoding for name, _, encoding in read if name == "d.html"] == ["gb18030"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_with_its_layers_is_small_enough(
    artifacts: dict[str, Artifact], name: str
) -> None:
    assert artifacts[name].size <= MOST_BYTES
    assert len(artifacts[name].folders) <= 1 + 5


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_that_is_never_used_is_shipped(artifacts: dict[str, Artifact], name: str) -> None:
    files = (file.relative_to(SAM_FOLDER) for file in artifacts[name].files())
    parts = {part for file in files for part in file.parts}
    assert not parts & {"lac_small", "posseg", "dict.txt", "grpc", "tests"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_is_left_to_compile_at_a_cold_start(
    artifacts: dict[str, Artifact], name: str
) -> None:
    """Lambda cannot keep what it compiles, and takes these files for what their sources say."""
    files = set(artifacts[name].files())
    compiled = {Path(cache_from_source(file)): file for file in files if file.suffix == ".py"}
    assert {file for file in files if file.suffix == ".pyc"} == compiled.keys()
    for file, source in compiled.items():
        header = MAGIC_NUMBER + UNCHECKED + source_hash(source.read_bytes())
        assert file.read_bytes()[:16] == header, file


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_file_is_in_a_function_and_its_layer_or_in_two_layers(
    artifacts: dict[str, Artifact], name: str
) -> None:
    places: dict[Path, Path] = {}
    for folder, start in zip(artifacts[name].folders, artifacts[name].path, strict=True):
        for file in Path(start).rglob("*"):
            if file.is_file():
                inside = file.relative_to(start)
                assert inside not in places, f"{inside} is in {places[inside]} and in {folder}"
                places[inside] = folder


def test_the_layers_requirements_are_those_of_the_lock() -> None:
    written = {
        layer: (ROOT / "layers" / layer / "requirements.txt").read_text(encoding="utf-8")
        for layer in LAYERS
    }
    assert written == make_requirements(read_packages()), "run `make lock`"


def test_every_dependency_of_the_project_is_in_a_layer() -> None:
    packages = read_packages()
    needed = {each["name"] for each in packages["winnow"]["dependencies"]}
    assert needed - {name for direct in LAYERS.values() for name in direct} == set()
