"""A filter over a million documents against the bare statements and searches that it needs.

    uv run python -m bench.filter [--documents 1000000] [--datasets 1] [--rounds 15] [--home DIR]

Prints ratios, each of two medians of one run in which both sides took turns. A home that is named
is kept, and its documents are used again.
"""

LONG = 600.0
"""Seconds that a statement may take here."""

SELECTIVE = {
    "a text": 'reference is "REF-{number:07}"',
    "a number stored as text": "account = {account}",
    "an element of a list": 'tags is "case-{number}"',
    "a time": 'published is "{published}"',
}
"""Each finds one document."""

BROAD = {
    "is, a text": "language is en",
    "is, a boolean": "public is true",
    ">, a number": "pages > 500",
    "after, a time": 'published after "{middle}"',
    "is not": "language is not en",
    "not empty": "reviewed not empty",
    "empty": "reviewed empty",
    "contains": "title contains report",
    "in, six texts": "department in {departments}",
    "in, forty texts": "country in {countries}",
    "not in, forty texts": "country not in {countries}",
    "and of four": "language is en and pages > 100 and public is true and reviewed not empty",
}
"""Each finds about half of the documents; the last one an eighth of nine tenths."""
