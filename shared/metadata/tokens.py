"""The words, quoted texts and signs of a filter that is written as text."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.errors import WinnowError
from shared.metadata.grammar import WHITE_SPACE, read_boolean, read_number, write_number


class Kind(StrEnum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text.

    Attributes:
        text: as it is meant: without quotes, and without the backslashes in them.
        start: its offset in the text.
    """

    kind: Kind
    text: str
    start: int

    def says(self, *words: str) -> bool:
        """Tells whether it is one of these signs or, in any case, words; quoted text is none."""
        return self.kind is not Kind.QUOTED and self.text.lower() in words


class WhereRefused(WinnowError):
    """A filter written as text can't be read; the message shows where."""

    def __init__(self, detail: str, text: str, start: int) -> None:
        self.detail = detail
        self.column = start + 1
        super().__init__(f"Column {self.column}: {detail}\n{_mark(text, start)}")


_SPACE = re.escape(WHITE_SPACE)
_PLAIN = rf"[^{_SPACE}()\[\],<>=≥≤≠!\"'`“”]|!(?!=)"
_TOKEN = re.compile(
    rf"""(?P<space>[{_SPACE}]+)
    | (?P<sign>[()\[\],] | [<>=!]= | [<>=≥≤≠])
    | (?P<quoted>(?P<quote>["'`]) (?:\\. | (?!(?P=quote)|\\).)* (?P=quote))
    | (?P<word>(?:{_PLAIN})+)""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(rf"(?:{_PLAIN})+")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = "\\\"'`"
_KEYWORDS = {"and", "or", "not", "empty", "null"}


def tokenize(text: str) -> Sequence[Token]:
    """Returns the tokens of a text, the last one of kind `END`.

    Raises:
        WhereRefused: a quote that is not closed, or a backslash before anything but a quote or a
            backslash.
    """
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            # Whatever is no quote is a space, a sign or part of a word.
            raise WhereRefused(_explain(text[at]), text, at)
        if found["quoted"]:
            tokens.append(Token(Kind.QUOTED, _open(found["quoted"], text, at), at))
        elif not found["space"]:
            kind = Kind.SIGN if found["sign"] else Kind.WORD
            tokens.append(Token(kind, found[0], at))
        at = found.end()
    return [*tokens, Token(Kind.END, "", len(text))]


def read_word(word: str) -> str | int | float | bool:
    """Returns what a value without quotes is: a number only where it is written at its shortest.

    So `007`, `1.10` and `1e3` stay the texts that they are.
    """
    number = read_number(word)
    if number is not None and write_number(number) == word:
        return number
    boolean = read_boolean(word)
    return word if boolean is None else boolean


def write_text(text: str) -> str:
    """Returns a name or a text so that it reads as itself: in quotes, unless one word does."""
    plain = _WORD.fullmatch(text) and text.lower() not in _KEYWORDS and read_word(text) == text
    return text if plain else '"' + re.sub(r'[\\"]', r"\\\g<0>", text) + '"'


def _open(quoted: str, text: str, start: int) -> str:
    for found in _ESCAPE.finditer(quoted):
        if found[1] not in _ESCAPED:
            detail = "in quotes a backslash stands only before a quote or a backslash"
            raise WhereRefused(detail, text, start + found.start())
    return _ESCAPE.sub(r"\1", quoted[1:-1])


def _explain(quote: str) -> str:
    curly = quote in "“”"
    return "texts stand in straight quotes" if curly else "this quote is not closed"


def _mark(text: str, start: int) -> str:
    """Returns the text on one line, and a caret below the offset."""
    line = "".join(each if each.isprintable() else " " for each in text)
    return f"  {line}\n  {' ' * sum(map(_measure, line[:start]))}^"


def _measure(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
