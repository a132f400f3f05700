"""A bucket that files are put into, and a small file of every format with a needle in it."""

from collections.abc import Callable
from itertools import count
from typing import Any

from functions.ingest.events import ObjectChange
from functions.ingest.pipeline import ingest
from functions.ingest.sources import take_object
from shared.errors import DocumentRefused
from tests.files.office import write_docx, write_pptx, write_xlsx
from tests.files.pdf import show, write_pdf
from tests.integration.app import App, Json

MAIL = b"Subject: =?utf-8?B?6YCA5qy+?=\nContent-Type: text/html\n\n<p>A needle in a mail."

FILES: dict[str, Callable[[], bytes]] = {
    "a.txt": lambda: b"A needle in a text.",
    "a.md": lambda: b"# Hay\n\nA needle in Markdown.",
    "a.html": lambda: b"<title>The page</title><p>A needle in a page.",
    "a.csv": lambda: b"what,where\nneedle,table\n",
    "a.tsv": lambda: b"what\twhere\nneedle\ttable\n",
    "a.json": lambda: b'[{"what": "needle"}]',
    "a.jsonl": lambda: b'{"what": "needle"}\n{"what": "hay"}\n',
    "a.eml": lambda: MAIL,
    "a.pdf": lambda: write_pdf([show("Hay."), "", show("A needle on page three.")]),
    "a.docx": lambda: write_docx("Hay.", "A needle in a document."),
    "a.xlsx": lambda: write_xlsx(["what", "where"], ["needle", "sheet"]),
    "a.pptx": lambda: write_pptx("Hay.", "A needle on slide two."),
}


class Bucket:
    """A dataset, and the bucket that its files come from."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.dataset = app.economy()
        self._events = count(1)

    def put(self, name: str, data: bytes) -> Json:
        """Puts an object, lets its event be ingested, and returns its document."""
        key = f"datasets/{self.dataset}/{name}"
        self.app.objects.put(key, data)
        event, parts = (
            ObjectChange("b", key, False, f"{next(self._events):04X}"),
            self.app.ingest_parts,
        )
        try:
            change = take_object(event, parts.engine, parts.objects, parts.content, parts.max_bytes)
            if change is not None:
                ingest(change, parts)
        except DocumentRefused:
            pass  # which stands on the document
        [document] = [
            each for each in self.list_documents() if each["name"] == name.rpartition("/")[2]
        ]
        return document

    def list_documents(self) -> list[Json]:
        path = f"/v1/datasets/{self.dataset}/documents"
        return list(self.app.client.get(path).json()["documents"])

    def find(self, query: str, **body: Any) -> list[Json]:
        answer = self.app.ask(self.dataset, query, search_method="full_text_search", **body)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["records"])
