"""The command line as people and scripts use it: real processes, real engines, a real pipe."""

import json
import os
import pty
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import urllib3

from tests.servers.aws import AWS_ENVIRONMENT, running_aws

WINNOW = Path(sys.executable).parent / "winnow"
PATIENCE = 120
TITLE = f"{' '.join(f'word{n:02}' for n in range(15))} thelastwordofit"


class Shell:
    """Runs `winnow` with one home, on the engines of this test run."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self.home = home
        self.environment = environment

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603, our own command
            [WINNOW, *map(str, arguments), "--home", self.home],
            env=self.environment | options.pop("env", {}),
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE),
            text=True,
            **options,
        )

    def run(self, *arguments: object, code: int = 0, **options: Any) -> tuple[str, str]:
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, err
        return out, err

    def json(self, *arguments: object, code: int = 0) -> Any:
        return json.loads(self.run(*arguments, code=code)[0])


@pytest.fixture(scope="module")
def shell(
    database_url: str, module_index_prefix: str, opensearch_url: str, tmp_path_factory: Any
) -> Shell:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINNOW_")}
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        kept.pop(name, None)
    return Shell(
        tmp_path_factory.mktemp("home"),
        kept
        | {
            "WINNOW_DATABASE_URL": database_url,
            "WINNOW_OPENSEARCH_URL": opensearch_url,
            "WINNOW_INDEX_PREFIX": module_index_prefix,
        },
    )


@pytest.fixture(scope="module")
def serving(shell: Shell) -> Iterator[str]:
    """A served API; yields its URL."""
    process = shell.start("serve", "--port", 0)
    assert process.stderr is not None
    said = ""
    while "Ctrl-C ends it" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    yield re.findall(r"http://127\.0\.0\.1:\d+", said)[0]
    assert shell.run("stop")[1] == f"Stopped process {process.pid}.\n"
    assert process.wait(PATIENCE) == 130
    refused = r"Ingest of document \S+ failed: its status says why\.\n"
    assert re.fullmatch(f"({refused})*Stopped\\.\n", process.stderr.read())
    process.stderr.close()
    assert process.stdout is not None
    process.stdout.close()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    files = {
        "refund.md": "# Refunds\nAn annual plan can be returned within 30 days.",
        "zh/退款.md": "# 退款\n年付套餐自开通之日起 15 天内可以退款。",
        f"{TITLE}.md": "Shipping takes a week. " * 30,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    sidecar = {"metadataAttributes": {"lang": "en", "pages": 3}}
    (folder / "refund.md.metadata.json").write_text(json.dumps(sidecar), encoding="utf-8")
    (folder / "picture.png").touch()
    return folder


@pytest.fixture(scope="module")
def ingested(shell: Shell, serving: str, corpus: Path) -> Any:
    assert serving
    return shell.json("ingest", corpus, "--dataset", "books", "--json")


def test_files_become_documents(shell: Shell, ingested: Any) -> None:
    assert ingested | {"dataset": None} == {
        "dataset": None,
        "new": 3,
        "updated": 0,
        "unchanged": 0,
        "failed": 0,
        "left_out": 1,
        "lone_sidecars": [],
        "failures": [],
    }
    (best, *_) = shell.json("search", "refund of a plan", "--dataset", "books", "--json")["records"]
    assert (best["title"], best["metadata"]) == ("refund.md", {"lang": "en", "pages": 3})


@pytest.mark.usefixtures("serving")
def test_a_new_dataset_of_files_that_cannot_be_read_gives_data_alone(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nno more than that")
    found = shell.json("ingest", tmp_path, "--dataset", "broken", "--json", code=1)
    assert [each["external_id"] for each in found["failures"]] == ["broken.pdf"]


@pytest.mark.usefixtures("ingested")
def test_only_what_changed_is_written_again(shell: Shell, corpus: Path) -> None:
    (corpus / "zh" / "退款.md").write_text("# 退款\n月付套餐不可退款。", encoding="utf-8")
    (corpus / "late.md").write_text("# Late", encoding="utf-8")
    (corpus / "late.md.metadata.json").write_text("{", encoding="utf-8")
    out, err = shell.run("ingest", corpus, "--dataset", "books", "--json", code=1)
    found = json.loads(out)
    assert (found["updated"], found["unchanged"], found["failed"]) == (1, 2, 1)
    assert [each["external_id"] for each in found["failures"]] == ["late.md"]
    assert re.search(r"^late\.md: late\.md\.metadata\.json: ", err, re.MULTILINE)
    for name in ("late.md", "late.md.metadata.json", "zh/退款.md"):
        (corpus / name).unlink()
    found = shell.json("ingest", corpus, "--dataset", "books", "--json")
    assert (found["new"], found["updated"], found["unchanged"]) == (0, 0, 2)
    kept = shell.json("search", "月付套餐", "--dataset", "books", "--json")["records"]
    assert any("月付套餐" in record["content"] for record in kept)  # though its file is gone


def test_an_ingest_that_is_stopped_goes_on_where_it_was(
    shell: Shell, serving: str, tmp_path: Path
) -> None:
    folder, key = tmp_path / "many", (shell.home / "bootstrap-key").read_text()
    folder.mkdir()
    for n in range(200):
        (folder / f"{n:03}.md").write_text(f"# Rule {n}\nIt holds {n} times.")
    (folder / "000.md.metadata.json").write_text("{")
    (folder / "100.md").write_text(" \n")
    (folder / "150.pdf").write_bytes(b"%PDF-1.7\nno more than that")
    headers = {"Authorization": f"Bearer {key}"}
    body = {"name": "many", "indexing_technique": "economy"}
    made = urllib3.request("POST", f"{serving}/v1/datasets", json=body, headers=headers).json()
    ingest = ["ingest", folder, "--dataset", "many", "--json"]
    process = shell.start(*ingest)
    assert process.stderr is not None
    said = ""
    while "000.md: 000.md.metadata.json: " not in said:  # as it comes, not at the end
        line = process.stderr.readline()
        assert line, said
        said += line
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, ""), err
    assert err.endswith("Stopped.\n")
    out, err = shell.run(*ingest, code=1)
    found = json.loads(out)
    assert found["new"] + found["unchanged"] == 198
    assert {each["external_id"] for each in found["failures"]} == {"000.md", "100.md", "150.pdf"}
    assert re.search(r"^100\.md: .*white space", err, re.MULTILINE)
    again = json.loads(shell.run(*ingest, code=1)[0])
    assert (again["new"], again["unchanged"], again["failed"]) == (0, 198, 3)
    gone = f"{serving}/v1/datasets/{made['id']}?wait=true"
    while urllib3.request("DELETE", gone, headers=headers, timeout=60.0).status == 202:
        pass  # asked again, it goes on


@pytest.mark.usefixtures("ingested")
def test_a_search_keeps_to_a_filter_written_as_text(shell: Shell) -> None:
    search = ["search", "plan", "--dataset", "books", "--json", "--where"]
    found = shell.json(*search, "lang is en and (pages > 5 or pages in [3, 4])")
    assert {record["title"] for record in found["records"]} == {"refund.md"}
    assert found["applied_filter"]["matched_documents"] == 1
    assert shell.json(*search, "not (lang is not en) and pages > 3")["records"] == []


@pytest.mark.usefixtures("ingested")
def test_p08_only_json_on_standard_output(shell: Shell) -> None:
    search = ["search", "退款", "--dataset", "books", "--json", "--top-k", 2]
    out, _ = shell.run(*search)
    assert len(json.loads(out)["records"]) == 2
    assert out.count("\n") == 1
    elsewhere, _ = shell.run(*search, env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(elsewhere)["records"] == json.loads(out)["records"]
    assert "退款" in elsewhere


@pytest.mark.usefixtures("ingested")
def test_p08_a_reader_that_leaves_early_sees_no_trace(shell: Shell) -> None:
    for option in ("--json", "--explain"):
        process = shell.start("search", "plan", "--dataset", "books", option)
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait(PATIENCE) == 1
        assert "Traceback" not in said
        assert "Broken" not in said
        process.stderr.close()


@pytest.mark.usefixtures("ingested")
def test_p08_escape_codes_on_a_terminal_alone(shell: Shell) -> None:
    search = ["search", "plan", "--dataset", "books"]
    assert "\x1b" not in "".join(shell.run(*search, env={"FORCE_COLOR": "1"}))
    assert "\x1b[1m" in on_a_terminal(shell, *search)
    assert "\x1b" not in on_a_terminal(shell, *search, env={"NO_COLOR": "1"})


@pytest.mark.usefixtures("ingested")
def test_p09_a_pipe_gets_whole_titles_and_a_terminal_its_width(shell: Shell) -> None:
    search = ["search", "shipping", "--dataset", "books"]
    piped, _ = shell.run(*search)
    assert any(TITLE in line for line in piped.splitlines())
    shown = on_a_terminal(shell, *search, env={"COLUMNS": "50", "NO_COLOR": "1"})
    assert max(map(len, shown.splitlines())) <= 50
    assert "thelastwordofit" in shown.replace("\n", "")


def on_a_terminal(shell: Shell, *arguments: object, env: dict[str, str] | None = None) -> str:
    """Returns what a command writes to a terminal."""
    ours, theirs = pty.openpty()
    process = shell.start(*arguments, stdout=theirs, env={"TERM": "xterm"} | (env or {}))
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:  # how Linux says that the other end was closed
        pass
    os.close(ours)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return written.decode().replace("\r\n", "\n")


def test_a_search_is_told_what_is_wrong_with_it(shell: Shell, serving: str) -> None:
    assert serving
    _, err = shell.run("search", "plan", "--dataset", "nowhere", code=1)
    assert re.search(r"There is no dataset 'nowhere'; there are .*books", err)
    _, err = shell.run("search", " ", "--dataset", "books", code=2)
    assert "is blank" in err
    asked = ("search", "plan", "--dataset", "books", "--where")
    _, err = shell.run(*asked, "lang is en and size > big", code=2)
    assert 'Column 23: field "size": > needs a finite number' in err
    assert err.endswith("\n  lang is en and size > big\n" + " " * 24 + "^\n")
    _, err = shell.run(*asked, "", code=2)
    assert "--where can't be read" in err
    _, err = shell.run("search", "plan", code=2)
    assert "--dataset" in err
    _, err = shell.run("ingest", "x", "--dataset", "d", "--embedding", "bge", code=2)
    assert "provider:model" in err
    _, err = shell.run("ingest", shell.home / "none", "--dataset", "d", code=1)
    assert "There is no file or folder" in err


def list_indices(url: str, prefix: str) -> list[str]:
    listed = urllib3.request("GET", f"{url}/_cat/indices/{prefix}*?format=json&h=index")
    return [each["index"] for each in listed.json()]


def count_all(report: Any, name: str) -> int:
    return sum(each[name] for each in report["datasets"])


@pytest.mark.usefixtures("ingested")
def test_o18_both_stores_are_compared_and_brought_into_step(
    shell: Shell, opensearch_url: str, module_index_prefix: str
) -> None:
    out, err = shell.run("reconcile", "--dry-run")
    assert re.search(r"^books +│ +3 │ +\d+ │ +\d+ │ +0 │ +0 │ +0 │ +0 │", out, re.MULTILINE)
    assert re.search(r"^Both stores agree over \d+ chunks\.$", err, re.MULTILINE)
    for index in list_indices(opensearch_url, module_index_prefix):
        urllib3.request("DELETE", f"{opensearch_url}/{index}")
    for _ in range(2):  # the first changed nothing
        report = shell.json("reconcile", "--dry-run", "--json", code=1)
        assert count_all(report, "missing") == count_all(report, "chunks") > 0
    assert list_indices(opensearch_url, module_index_prefix) == []
    assert count_all(shell.json("reconcile", "--json"), "left") == 0
    assert count_all(shell.json("reconcile", "--dry-run", "--json"), "missing") == 0
    found = shell.json("search", "refund of a plan", "--dataset", "books", "--json")["records"]
    assert found[0]["title"] == "refund.md"


@pytest.mark.usefixtures("ingested")
def test_an_index_that_is_closed_is_told_where_no_data_stands(
    shell: Shell, opensearch_url: str, module_index_prefix: str
) -> None:
    indices = list_indices(opensearch_url, module_index_prefix)
    for index in indices:
        urllib3.request("POST", f"{opensearch_url}/{index}/_close")
    out, err = shell.run("reconcile", "--json", code=1)
    assert (out, "index_closed_exception" in err) == ("", True)
    for index in indices:
        urllib3.request("POST", f"{opensearch_url}/{index}/_open")
    shell.run("reconcile")


def test_what_ended_in_error_is_tried_again(shell: Shell, serving: str, tmp_path: Path) -> None:
    assert serving
    (tmp_path / "table.xlsx").write_bytes(b"PK\x03\x04 and nothing else")
    shell.run("ingest", tmp_path, "--dataset", "tried", code=1)
    _, err = shell.run("redrive", "--dataset", "tried", code=1)
    assert err.endswith("1 documents were tried again, 1 failed.\n")
    _, err = shell.run("redrive", "--dataset", "nowhere", code=1)
    assert "There is no dataset 'nowhere'" in err
    _, err = shell.run("redrive", "--dataset", "d", "--dead-letters", "http://q", code=2)
    assert "don't go together" in err


def test_dead_letters_go_back_into_their_queue(shell: Shell) -> None:
    with running_aws() as url:
        access = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        sqs = boto3.client("sqs", endpoint_url=url, region_name="us-east-1", **access)
        dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
        policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:123456789012:dead"}
        redrive = json.dumps(policy | {"maxReceiveCount": 5})
        queue = sqs.create_queue(QueueName="queue", Attributes={"RedrivePolicy": redrive})
        sqs.send_message(QueueUrl=dead, MessageBody="{}")
        aws = AWS_ENVIRONMENT | {"AWS_ENDPOINT_URL": url}
        _, err = shell.run("redrive", "--dead-letters", dead, env=aws)
        assert "1 messages went back into the queue" in err
        (message,) = sqs.receive_message(QueueUrl=queue["QueueUrl"])["Messages"]
        assert message["Body"] == "{}"
    _, err = shell.run("redrive", "--dead-letters", dead, env=aws, code=1)
    assert "can't be reached" in err


def test_stores_are_compared_where_nobody_serves(shell: Shell, tmp_path: Path) -> None:
    alone = Shell(tmp_path / "home", shell.environment)
    assert alone.json("reconcile", "--dry-run", "--json")["complete"]
    assert not (alone.home / "service.json").exists()


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "few"
    folder.mkdir()
    documents = ["alpha beta", "gamma delta", "epsilon zeta", ""]
    lines = [json.dumps({"id": n, "text": words}) for n, words in enumerate(documents, 1)]
    (folder / "docs.jsonl").write_text("\n".join(lines))
    queries = [{"id": "a", "text": "beta alpha"}, {"id": "b", "text": "omega"}]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels.tsv").write_bytes(b"query-id\tcorpus-id\tscore\r\na\t1\t1\r\nb\t2\t1\r\n")
    return folder


def test_p01_p06_p08_a_collection_is_measured(shell: Shell, serving: str, collection: Path) -> None:
    assert serving
    found = shell.json("eval", collection, "--json", "-", "--method", "text", "--method", "rrf")
    assert (found["documents"], found["empty_documents"], found["queries"]) == (3, 1, 2)
    text_, rrf = found["methods"]
    assert (text_["method"], text_["answered"], text_["above_default"]) == ("text", 1, None)
    assert (text_["nDCG@10"], text_["recall@10"], text_["MRR@10"]) == (0.5, 0.5, 0.5)
    assert (rrf["answered"], rrf["recall@10"]) == (2, 1.0)
    assert 0 < rrf["p50_ms"] <= rrf["p95_ms"]

    file = collection / "figures.json"
    out, err = shell.run("eval", collection, "--json", file, "--method", "text", "--limit", 1)
    assert json.loads(file.read_text())["methods"][0]["nDCG@10"] == 1.0
    assert re.search(r"^text +│ +1\.0000", out, re.MULTILINE)
    assert "1 empty documents were left out." in out
    assert "HTTP" in out
    assert "Ingesting" in err
    _, err = shell.run("eval", collection, "--method", "text", "--json", collection, code=1)
    assert "Is a directory" in err
    assert "Traceback" not in err
    _, err = shell.run("eval", collection, "--method", "magic", code=2)
    assert "magic" in err


def test_several_collections_are_compared_with_the_default(
    shell: Shell, serving: str, collection: Path
) -> None:
    assert serving
    other = collection.with_name("other")
    shutil.copytree(collection, other)
    found = shell.json(
        "eval", collection, other, "--json", "-", "--method", "default", "--method", "text"
    )
    assert [each["collection"] for each in found] == ["few", "other"]
    for each in found:
        default, text_ = each["methods"]
        above = text_["above_default"]["nDCG@10"]
        assert above["mean"] == pytest.approx(text_["nDCG@10"] - default["nDCG@10"])
        assert above["low"] <= above["mean"] <= above["high"] <= 0
    _, err = shell.run("eval", collection, collection / "none", code=1)
    assert "holds neither docs.jsonl" in err
    assert "Asking" not in err


def test_the_api_is_described_and_guarded(shell: Shell, serving: str) -> None:
    described = urllib3.request("GET", f"{serving}/openapi.json").json()
    assert {"/v1/retrieve", "/v1/datasets", "/v1/documents/{document_id}", "/health"} <= set(
        described["paths"]
    )
    assert urllib3.request("GET", f"{serving}/docs").status == 200
    assert urllib3.request("GET", f"{serving}/health?deep=1").json()["status"] == "ok"
    assert urllib3.request("GET", f"{serving}/v1/datasets").status == 401
    key = (shell.home / "bootstrap-key").read_text()
    headers = {"Authorization": f"Bearer {key}"}
    assert urllib3.request("GET", f"{serving}/v1/datasets", headers=headers).status == 200
    for secret in ("bootstrap-key", "service.json"):
        assert stat.S_IMODE((shell.home / secret).stat().st_mode) == 0o600


def test_a_home_in_use_and_a_port_in_use_are_told(shell: Shell, serving: str) -> None:
    _, err = shell.run("serve", "--port", 0, code=1)
    assert "is in use by process" in err
    _, err = shell.run("serve", "--port", serving.rpartition(":")[2], code=1)
    assert re.fullmatch(r"Port \d+ of 127.0.0.1 can't be used .*--port\.\n", err)


def test_p08_ctrl_c_ends_a_command_that_runs_alone(shell: Shell, tmp_path: Path) -> None:
    alone = Shell(tmp_path / "home", shell.environment)
    process = alone.start("serve", "--port", 0)
    assert process.stderr is not None
    said = ""
    while "Ctrl-C ends it" not in said:
        said += process.stderr.readline()
    (address,) = re.findall(r"127\.0\.0\.1:(\d+),", said)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "Stopped.\n")
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(address))) != 0
    assert not (alone.home / "service.json").exists()
    _, err = alone.run("stop", code=1)
    assert err == f"Nothing runs in {alone.home}.\n"


def test_without_a_service_a_command_brings_its_own(
    shell: Shell, corpus: Path, tmp_path: Path
) -> None:
    alone = Shell(tmp_path / "home", shell.environment)
    name = f"alone-{uuid.uuid4().hex}"
    found = alone.json("ingest", corpus / "refund.md", "--dataset", name, "--json")
    assert found["new"] == 1
    assert not (alone.home / "service.json").exists()


def test_a_wrong_setting_is_named(shell: Shell, tmp_path: Path) -> None:
    for setting, value in {
        "WINNOW_BOOTSTRAP_KEY": "short",
        "WINNOW_DATABASE_URL": "garbage",
        "WINNOW_OPENSEARCH_URL": "http://u:hunter2@127.0.0.1:9",
    }.items():
        alone = Shell(tmp_path / "home", shell.environment | {setting: value})
        _, err = alone.run("serve", "--port", 0, code=1)
        assert re.fullmatch(f"{setting}.*\n", err)
        assert "hunter2" not in err
