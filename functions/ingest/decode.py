"""Turns a file's bytes into text without guessing and without replacing anything."""

import codecs

from shared.errors import DocumentRefused

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


def decode(data: bytes, charset: str | None = None) -> str:
    """Returns the text of a file, without its byte order mark.

    A byte order mark decides; without one it is strict UTF-8, and where that fails, the declared
    charset.

    Args:
        data: the file's bytes.
        charset: what the sender says they are written in, if anything.

    Raises:
        DocumentRefused: `encoding`, naming the first byte that can't be read.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_strictly(data, encoding, len(mark))
    if charset is None:
        return _decode_strictly(data, "utf-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_strictly(data, _find_codec(charset))


def _decode_strictly(data: bytes, encoding: str, mark: int = 0) -> str:
    try:
        return data[mark:].decode(encoding)
    except UnicodeDecodeError as error:
        offset = mark + error.start
        raise DocumentRefused(
            "encoding",
            f"The file is not written in {encoding.upper()}: the byte 0x{data[offset]:02X} at "
            f"offset {offset} can't be read. Save it as UTF-8, or name its charset, as in: "
            "text/plain; charset=gb18030.",
        ) from error


def _find_codec(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name
    except LookupError:
        name = ""
    if not name.startswith(_CHARSET_FAMILIES):
        raise DocumentRefused(
            "encoding", f"The file is not UTF-8, and its declared charset {charset!r} is unknown."
        )
    return "gb18030" if name in {"gb2312", "gbk"} else name  # a superset, and what is mostly meant
