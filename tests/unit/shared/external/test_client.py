import datetime
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shared.errors import ExternalFailed
from shared.external import client as client_module
from shared.external.client import ExternalClient
from shared.model import ExternalBase, ExternalQuestion
from tests.servers.external import KEY, ExternalServer, record, refuse
from tests.servers.server import Reply
from tests.servers.silence import silent_server
from tests.servers.talk import talking_server

QUESTION = ExternalQuestion(query="refund, 退款", top_k=3, threshold=0.25, condition=None)
PLENTY = 20.0


@pytest.fixture
def server() -> Iterator[ExternalServer]:
    with ExternalServer().running() as running:
        assert isinstance(running, ExternalServer)
        running.bases["kb"] = [record("a", 0.9), record("b", 0.8)]
        yield running


@pytest.fixture
def make() -> Iterator[Callable[..., ExternalClient]]:
    """Makes clients, closed in the end."""
    made: list[ExternalClient] = []

    def build(hosts: str, **more: Any) -> ExternalClient:
        made.append(ExternalClient(hosts, connections=4, **more))
        return made[-1]

    yield build
    for each in made:
        each.close()


@pytest.fixture
def client(server: ExternalServer, make: Callable[..., ExternalClient]) -> ExternalClient:
    return make(server.host)


def base(endpoint: str, knowledge_id: str = "kb", key: str = KEY) -> ExternalBase:
    return ExternalBase(endpoint, knowledge_id, key)


def fail(client: ExternalClient, base: ExternalBase, timeout: float = PLENTY) -> str:
    """Returns why a base does not answer; never by a word of its key."""
    with pytest.raises(ExternalFailed) as failed:
        client.retrieve(base, QUESTION, timeout)
    assert base.api_key not in str(failed.value)
    assert "127.0.0.1" not in str(failed.value)
    return str(failed.value)


def test_it_asks_as_dify_does(server: ExternalServer, client: ExternalClient) -> None:
    condition = {
        "logical_operator": "or",
        "conditions": [{"name": "lang", "comparison_operator": "is", "value": "en"}],
    }
    question = ExternalQuestion(query="退款", top_k=3, threshold=0.25, condition=condition)
    answer = client.retrieve(base(server.endpoint), question, PLENTY)
    assert [hit.content for hit in answer.hits] == ["a", "b"]
    [request] = server.requests
    assert request.path == "/kb/retrieval"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Content-Type"] == "application/json"
    assert request.body == {
        "knowledge_id": "kb",
        "query": "退款",
        "retrieval_setting": {"top_k": 3, "score_threshold": 0.25},
        "metadata_condition": condition,
    }


def test_without_a_filter_the_condition_is_null(
    server: ExternalServer, client: ExternalClient
) -> None:
    client.retrieve(base(f"{server.endpoint}/"), QUESTION, PLENTY)
    assert server.requests[0].path == "/kb/retrieval"
    assert server.requests[0].body["metadata_condition"] is None


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(
    server: ExternalServer, client: ExternalClient, status: int
) -> None:
    place = {"Location": f"{server.endpoint}/elsewhere"}
    server.bases["kb"] = Reply(b"", status=status, headers=place)
    assert "redirects are not followed" in fail(client, base(server.endpoint))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("key", "knowledge_id", "words"),
    [("wrong-key", "kb", "403 (error 1002)"), (KEY, "other", "404 (error 2001)")],
)
def test_a_refusal_is_told_without_the_servers_words(
    server: ExternalServer, client: ExternalClient, key: str, knowledge_id: str, words: str
) -> None:
    assert words in fail(client, base(server.endpoint, knowledge_id, key))


@pytest.mark.parametrize(
    "reply", [refuse(500, 1, KEY), Reply(b"<html>"), Reply([]), Reply(hang_up=True)]
)
def test_a_base_that_is_broken_fails_in_words_of_ours(
    server: ExternalServer, client: ExternalClient, reply: Reply
) -> None:
    server.bases["kb"] = reply
    fail(client, base(server.endpoint))


def test_an_answer_without_end_is_given_up(server: ExternalServer, client: ExternalClient) -> None:
    server.bases["kb"] = [record("x" * client_module.MOST_BYTES, 1.0)]
    assert "more than" in fail(client, base(server.endpoint))
    server.bases["kb"] = [record("a", 1.0)]
    assert client.retrieve(base(server.endpoint), QUESTION, PLENTY).hits


def test_an_answer_that_breaks_off_is_no_answer(make: Callable[..., ExternalClient]) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n"
    with talking_server([head + b'{"records": []}']) as (host, _):
        assert "can't be reached" in fail(make(host), base(f"http://{host}"))


def test_a_chunked_answer_is_read(make: Callable[..., ExternalClient]) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    pieces = [head, b'8\r\n{"record\r\n', b'6\r\ns": []\r\n', b"1\r\n}\r\n0\r\n\r\n"]
    with talking_server(pieces) as (host, _):
        assert make(host).retrieve(base(f"http://{host}"), QUESTION, PLENTY).hits == []


def test_o10_a_silent_base_is_late(make: Callable[..., ExternalClient]) -> None:
    with silent_server() as url:
        client = make(url.removeprefix("http://"))
        assert fail(client, base(url), 0.05) == "no answer within 0.05 s"


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_base_that_trickles_is_cut_off_at_the_deadline(
    make: Callable[..., ExternalClient], start: bytes
) -> None:
    with talking_server([start], then=b"a") as (host, hung_up):
        assert "no answer within" in fail(make(host), base(f"http://{host}"), 0.3)
        assert hung_up.wait(10), "the connection is closed, and no thread reads on"


def test_a_base_that_nobody_serves_is_named_as_such(make: Callable[..., ExternalClient]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host = f"127.0.0.1:{listener.getsockname()[1]}"
    assert fail(make(host), base(f"http://{host}")) == "it can't be reached"


def test_a_host_that_does_not_exist_can_not_be_reached(make: Callable[..., ExternalClient]) -> None:
    def look_up(_host: str, _port: int) -> list[str]:
        raise socket.gaierror

    client = make("", look_up=look_up)
    assert fail(client, base("https://kb.example")) == "it can't be reached"


def test_without_the_setting_nothing_of_this_machine_is_asked(
    server: ExternalServer, make: Callable[..., ExternalClient]
) -> None:
    port = server.host.partition(":")[2]
    closed = make("", look_up=lambda _host, _port: ["127.0.0.1"])
    for endpoint in (server.endpoint, f"https://127.0.0.1:{port}", f"https://kb.example:{port}"):
        assert "refused" in fail(closed, base(endpoint))
    assert server.connections == 0


class Rebinding:
    """A resolver that gives the first address once, and then always the second."""

    def __init__(self, first: str, then: str) -> None:
        self.answers = [first]
        self.then = then
        self.asked: list[tuple[str, int]] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append((host, port))
        return [self.answers.pop() if self.answers else self.then]


def test_a_name_that_turns_private_after_the_check_leads_nowhere_else(
    server: ExternalServer, make: Callable[..., ExternalClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[Any] = []

    def connect(address: Any, _timeout: float) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    port = int(server.host.partition(":")[2])
    look_up = Rebinding("93.184.215.14", "127.0.0.1")
    client = make("", look_up=look_up)
    endpoint = f"https://kb.example:{port}"
    assert fail(client, base(endpoint)) == "it can't be reached"
    assert look_up.asked == [("kb.example", port)]
    assert connected == [("93.184.215.14", port)], "the very address that was checked"
    assert "refused" in fail(client, base(endpoint))
    assert len(look_up.asked) == 2
    assert len(connected) == 1, "the second answer is private: no connection is tried"


def test_a_kept_connection_is_not_led_away_by_a_new_answer(
    server: ExternalServer, make: Callable[..., ExternalClient]
) -> None:
    port = int(server.host.partition(":")[2])
    look_up = Rebinding("127.0.0.1", "192.0.2.1")
    client = make(f"kb.example:{port}", look_up=look_up)
    for _ in range(3):
        assert client.retrieve(base(f"http://kb.example:{port}/kb"), QUESTION, PLENTY).hits
    assert len(look_up.asked) == 1
    assert server.connections == 1
    assert {request.headers["Host"] for request in server.requests} == {f"kb.example:{port}"}


def test_a_connection_is_kept_for_its_own_server_alone(make: Callable[..., ExternalClient]) -> None:
    with ExternalServer().running() as one, ExternalServer().running() as other:
        assert isinstance(one, ExternalServer)
        assert isinstance(other, ExternalServer)
        one.bases["kb"], other.bases["kb"] = [record("one", 1)], [record("other", 1)]
        client = make(f"{one.host},{other.host}")
        for _ in range(2):
            for server, name in ((one, "one"), (other, "other")):
                [hit] = client.retrieve(base(server.endpoint), QUESTION, PLENTY).hits
                assert hit.content == name
        assert (one.connections, other.connections) == (1, 1)


def test_a_connection_that_died_is_made_anew(make: Callable[..., ExternalClient]) -> None:
    with ExternalServer().running() as server:
        assert isinstance(server, ExternalServer)
        server.bases["kb"] = [record("a", 1)]
        client = make(server.host)
        assert client.retrieve(base(server.endpoint), QUESTION, PLENTY).hits
        server.script = [Reply(hang_up=True)]
        assert client.retrieve(base(server.endpoint), QUESTION, PLENTY).hits
        assert server.connections == 2


PROGRAM = """
import sys
from shared.external.client import ExternalClient
from shared.model import ExternalBase, ExternalQuestion
client = ExternalClient(sys.argv[1], connections=4)
base = ExternalBase(f"http://{sys.argv[1]}/kb", "kb", sys.argv[2])
question = ExternalQuestion(query="q", top_k=3, threshold=0.0, condition=None)
for _ in sys.stdin:
    print(len(client.retrieve(base, question, 20).hits), flush=True)
client.close()
"""


def test_o09_a_frozen_process_asks_again_after_one_reconnect() -> None:
    server = ExternalServer(idle_seconds=1.0)
    server.bases["kb"] = [record("a", 1)]
    with (
        server.running(),
        subprocess.Popen(  # noqa: S603, our own program
            [sys.executable, "-c", PROGRAM, server.host, KEY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "1\n"
        process.send_signal(signal.SIGSTOP)
        assert server.closed.acquire(timeout=20), "the server closes the idle connection"
        process.send_signal(signal.SIGCONT)
        process.stdin.write("\n")
        process.stdin.close()
        assert process.stdout.readline() == "1\n"
        assert process.wait(20) == 0
    assert len(server.requests) == 2
    assert server.connections == 2


def test_the_certificate_must_be_the_hosts_whatever_the_address(
    make: Callable[..., ExternalClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, names = write_certificate(tmp_path, "kb.example"), []
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    answer = b'{"records": [{"content": "a", "score": 1}]}'
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    context.sni_callback = lambda _sock, name, _context: names.append(name)
    with talking_server([head + answer], tls=context) as (host, _):
        port = host.partition(":")[2]
        client = make(
            f"kb.example:{port},other.example:{port}", look_up=lambda _host, _port: ["127.0.0.1"]
        )
        [hit] = client.retrieve(base(f"https://kb.example:{port}"), QUESTION, PLENTY).hits
        assert hit.content == "a"
        assert fail(client, base(f"https://other.example:{port}")) == "it can't be reached"
    assert names == ["kb.example", "other.example"]


def write_certificate(folder: Path, host: str) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
