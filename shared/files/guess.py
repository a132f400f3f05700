"""Guesses how bytes are written that are not UTF-8 and that nobody declared a charset of.

Chinese, Japanese and Korean charsets are told apart by which characters are in everyday use: each
has them in ranges of first bytes of their own, so that even a line of a dozen characters tells.
Statistics of a language, as charset-normalizer keeps them, need more text than that: it is asked
for all other writing.
"""

import re
from collections import Counter
from collections.abc import Sequence

_SYMBOLS = (0xA1, 0xA3)
# Where a charset's everyday characters are: first bytes, and the least second byte.
_EVERYDAY: dict[str, tuple[Sequence[tuple[int, int]], int]] = {
    "cp949": ((_SYMBOLS, (0xB0, 0xC8)), 0xA1),  # the Hangul syllables of KS X 1001
    "gb18030": ((_SYMBOLS, (0xB0, 0xD7)), 0xA1),  # level 1 of GB 2312
    "big5": (((0xA1, 0xC6),), 0x40),  # level 1
    "big5hkscs": (((0xA1, 0xC6),), 0x40),  # the same, with what Hong Kong writes besides
    "euc_jp": (((0xA1, 0xA5), (0xB0, 0xCF)), 0xA1),  # kana, level 1 of JIS X 0208
    "cp932": (((0x81, 0x83), (0x88, 0x98)), 0x40),  # the same
}
_PLAUSIBLE = 0.7
"""The least share of everyday characters. Of other writing that can be decoded by chance, up to a
half are."""

# Of two that fit alike the first counts.
_OTHERS = ("cp1252", "cp1251", "koi8_r", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp874")
_ALPHABETS: dict[str, Sequence[str]] = {
    "cp1252": (
        "éàèêçâîôùûëïœüæ",  # French
        "óíáéñúüºª",  # Spanish
        "ãçáéíóêúõâàôºª",  # Portuguese
        "àèùòìéíóú",  # Italian
        "äöåüßøæé",  # German, and the North's
    ),
    "cp1250": (
        "łąęóżśćńź",  # Polish
        "íáéěýřžščůúťňďó",  # Czech
        "áíéčšžýúťľôňäďóŕĺ",  # Slovak
        "áéöőóüíúű",  # Hungarian
        "ăîşţâ",  # Romanian
        "čšžćđ",  # Croatian, Slovenian
    ),
    "cp1254": ("ıüşğçöâîûi\u0307",),  # Turkish, whose capital I has a dot
}
"""Letters of a language beyond ASCII, the frequent ones first, for encodings in which the same
bytes are other letters."""
_RANK = 0.01
"""What a letter counts less than the one before it: it decides between languages that fit alike."""
_OTHER_ALPHABET = 0.8
_UTF_8 = 0.9
"""The least share of such bytes in what is UTF-8 and damaged; of other writing it is up to 0.3."""
_FEWEST = 20  # bytes beyond ASCII; fewer are UTF-8 by chance
_ASCII = bytes(range(0x80))
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f\x7f]")  # no text has these
_BETWEEN_WORDS = re.compile(r"[^\x00-\x7f] [^\x00-\x7f]")  # Korean has blanks, Chinese has none
_SAMPLE = 100_000  # bytes that tell; the rest must be decodable all the same


def guess_encoding(data: bytes) -> str | None:
    """Returns the most plausible encoding, one that all bytes can be decoded by; None if none is.

    Args:
        data: what is not UTF-8, so that it has bytes above 0x7F.
    """
    if has_controls(data) or _is_damaged_utf_8(data):
        return None
    shares = {encoding: _count_everyday(data, encoding) for encoding in _EVERYDAY}
    best = max(shares, key=lambda encoding: shares[encoding])
    if shares[best] < _PLAUSIBLE:
        return _guess_other(data)
    # Every common Hangul syllable has the bytes of a common Chinese character.
    if best == "cp949" and shares["gb18030"] == shares[best] and not _has_words(data, best):
        return "gb18030"
    return best


def has_controls(data: bytes) -> bool:
    """Tells whether bytes have control characters, as no text has in an encoding of bytes."""
    return _CONTROLS.search(data) is not None


def _count_everyday(data: bytes, encoding: str) -> float:
    """Returns the share of everyday ones among the characters beyond ASCII; 0 if undecodable."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    ranges, least_second = _EVERYDAY[encoding]
    beyond = [character for character in text[:_SAMPLE] if not character.isascii()]
    written = [character.encode(encoding) for character in beyond]
    everyday = sum(
        len(each) == 2  # noqa: PLR2004 - bytes of a character
        and each[1] >= least_second
        and any(first <= each[0] <= last for first, last in ranges)
        for each in written
    )
    return everyday / max(1, len(beyond))


def _has_words(data: bytes, encoding: str) -> bool:
    return _BETWEEN_WORDS.search(data.decode(encoding)) is not None


def _is_damaged_utf_8(data: bytes) -> bool:
    """Tells whether nearly all is UTF-8: any other encoding would make two letters of each."""
    first = _BEYOND_ASCII.search(data)
    sample = data[first.start() : first.start() + _SAMPLE] if first else b""
    beyond = len(sample.translate(None, _ASCII))
    readable = sample.decode("utf-8", "ignore").encode().translate(None, _ASCII)
    return beyond >= _FEWEST and len(readable) >= beyond * _UTF_8


def _guess_other(data: bytes) -> str | None:
    from charset_normalizer import from_bytes  # noqa: PLC0415 - seldom needed

    matches = list(from_bytes(data, cp_isolation=list(_OTHERS)))
    if not matches:
        return None
    # Of those that are as little of a mess as the first, which is all that few words tell.
    alike = [match.encoding for match in matches if match.chaos <= matches[0].chaos]
    coherence = {match.encoding: match.coherence for match in matches}
    return max(
        sorted(alike, key=_OTHERS.index),
        key=lambda encoding: (_count_letters(data, encoding), coherence[encoding]),
    )


def _count_letters(data: bytes, encoding: str) -> float:
    """Returns the share of letters beyond ASCII that are a language's, of the one with the most."""
    if encoding not in _ALPHABETS:
        return _OTHER_ALPHABET
    text = data[:_SAMPLE].decode(encoding).lower()
    letters = Counter(each for each in text if each.isalpha() and not each.isascii())
    shares = (
        sum(letters[letter] * (1 - rank * _RANK) for rank, letter in enumerate(alphabet))
        for alphabet in _ALPHABETS[encoding]
    )
    return max(shares) / max(1, letters.total())
