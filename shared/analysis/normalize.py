"""One spelling for what readers take as the same text."""

import re
import unicodedata

_IGNORABLE = re.compile(
    # Soft hyphen, joiners, writing directions, variation selectors, byte order mark. The zero-width
    # space is not among them: it separates words.
    "[\u00ad\u034f\u061c\u180e\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0100-\U000e01ef]+"
)
_LATIN_AND_GREEK = (
    "a-z\u00df-\u024f\u0250-\u02af\u0370-\u03ff\u1e00-\u1fff\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f"
)
_ACCENTED = re.compile(f"([{_LATIN_AND_GREEK}])[\u0300-\u036f\u1dc0-\u1dff]+")
_LOOKALIKES = dict(zip("’ʼ‐øłđħŧı", "''-oldhti", strict=True)) | {"æ": "ae", "œ": "oe"}
_LOOKALIKE = re.compile(f"[{''.join(_LOOKALIKES)}]")  # searched in a tenth of translate's time


def normalize(text: str) -> str:
    """Returns the text as it is compared: NFKC, case folded, Latin and Greek without accents.

    Kana keep their sound marks and Cyrillic its breves: without them they are other letters.
    Characters that nobody sees are dropped.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    visible = unicodedata.normalize("NFD", _IGNORABLE.sub("", folded))
    bare = _ACCENTED.sub(r"\1", visible)
    plain = _LOOKALIKE.sub(lambda found: _LOOKALIKES[found.group()], bare)
    return unicodedata.normalize("NFKC", plain)
