"""Turns a file's bytes into text without replacing anything."""

import codecs
import re
from dataclasses import dataclass

from shared.errors import DocumentRefused
from shared.files.guess import guess_encoding, has_controls

# UTF-32 stands first: its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Python also calls these charsets: "unicode_escape", "idna", "utf-7". No file is written in them.
_CHARSET_FAMILIES = (
    "utf-8",
    "utf-16",
    "utf-32",
    "gb",
    "big5",
    "shift_jis",
    "euc",
    "iso",
    "cp",
    "koi8",
    "ascii",
    "mac",
)
# Supersets, and what is mostly meant.
_MEANT = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "ascii": "cp1252",
}
# What pages and mails call charsets that Python calls otherwise.
_ALSO_CALLED = {
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-8-i": "iso8859-8",
    "tis-620": "cp874",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "x-euc-jp": "euc_jp",
    "x-gbk": "gbk",
    "x-sjis": "cp932",
}
_NEVER_IN_CP932 = (b"\xfd", b"\xfe", b"\xff")  # of which Python makes private characters
# In these a text can be UTF-8 by chance: seven-bit charsets, which mails have, and wide ones, which
# write ASCII with NUL. Each has a byte that no text in UTF-8 has.
_BY_CHANCE = {"iso2022": b"\x1b", "utf-16": b"\0", "utf-32": b"\0"}


_JAPANESE = re.compile(rb"\x1b\$[@B](?:[!-~]{2})+\x1b\([BJ]")  # ISO-2022-JP, and nothing else
_ESCAPE = "\x1b"
_IN_JAPANESE = re.compile(rb"\x1b\$[@B]([!-~\s]*)(?:\x1b\([BJ])?")
_EIGHTH_BIT = bytes(byte | 0x80 if byte > 0x20 else byte for byte in range(256))  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text, and how it was written.

    Attributes:
        encoding: Python's name of it.
        guessed: nothing in the file or beside it says so.
    """

    text: str
    encoding: str
    guessed: bool = False


def decode(data: bytes, charset: str | None = None) -> Decoded:
    """Returns the text of a file, without its byte order mark.

    A byte order mark decides; without one it is strict UTF-8, where that fails the declared
    charset, and without one a guess.

    Args:
        data: the file's bytes.
        charset: what the sender says they are written in, if anything.

    Raises:
        DocumentRefused: `encoding`, naming the first byte that can't be read.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return Decoded(_decode_strictly(data, encoding, len(mark)), encoding)
    if charset is not None and _is_utf_8_by_chance(data, charset):
        return _decode_other(data, charset)
    if charset is None and data.isascii() and _JAPANESE.search(data):
        return Decoded(_decode_strictly(data, "iso2022_jp"), "iso2022_jp", guessed=True)
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _decode_other(data, charset)


def _is_utf_8_by_chance(data: bytes, charset: str) -> bool:
    if not any(sign in data for sign in set(_BY_CHANCE.values())):
        return False
    codec = _find_codec(charset)
    return any(codec.startswith(name) and sign in data for name, sign in _BY_CHANCE.items())


def _decode_other(data: bytes, charset: str | None) -> Decoded:
    if charset is not None:
        encoding = _find_codec(charset)
        if encoding == "cp932" and any(byte in data for byte in _NEVER_IN_CP932):
            encoding = "shift_jis"  # which fails, naming the place
        return Decoded(_decode_strictly(data, encoding), encoding)
    guess = guess_encoding(data)
    if guess is None:
        return Decoded(_decode_strictly(data, "utf-8"), "utf-8")  # which fails, naming the place
    return Decoded(data.decode(guess), guess, guessed=True)


def _decode_japanese(data: bytes) -> str | None:
    """Decodes ISO-2022-JP with what Windows writes in it besides, such as ①; None if that fails."""
    eight_bit = _IN_JAPANESE.sub(lambda found: found[1].translate(_EIGHTH_BIT), data)
    try:
        text = eight_bit.decode("euc_jis_2004")
    except UnicodeDecodeError:
        return None
    return None if _ESCAPE in text else text


def _decode_strictly(data: bytes, encoding: str, mark: int = 0) -> str:
    try:
        return data[mark:].decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "iso2022_jp" and (text := _decode_japanese(data)) is not None:
            return text
        offset = mark + error.start
        place = f"the byte 0x{data[offset]:02X} at offset {offset} can't be read."
        if has_controls(data) and not mark:
            reason = (
                f"The file is no text: {place} It has control characters, as pictures, archives "
                "and UTF-16 without a byte order mark have."
            )
        else:
            reason = (
                f"The file is not written in {encoding.upper()}: {place} Save it as UTF-8, or name "
                "its charset, as in: text/plain; charset=gb18030."
            )
        raise DocumentRefused("encoding", reason) from error


def _find_codec(charset: str) -> str:
    try:
        name = codecs.lookup(_ALSO_CALLED.get(charset.lower(), charset)).name
    except LookupError:
        name = ""
    if not name.startswith(_CHARSET_FAMILIES):
        raise DocumentRefused(
            "encoding", f"The file is not UTF-8, and its declared charset {charset!r} is unknown."
        )
    return _MEANT.get(name, name)
