"""Names and values that would do harm if they were ever read as anything but text.

Built from blocks: what would end a piece of SQL, JSON, jsonpath or a template, and what would then
go on; and what text can be besides: every quote of Unicode, controls, scripts, null words, numbers
that are none. All are different in NFC.
"""

import itertools
import unicodedata
from collections.abc import Iterable, Sequence

from shared.metadata.filter_values import LONGEST_NAME

_BASIC_PLANE = [chr(code) for code in range(1, 0xFFFE) if not 0xD800 <= code <= 0xDFFF]


def _named(*words: str) -> list[str]:
    return [c for c in _BASIC_PLANE if any(word in unicodedata.name(c, "") for word in words)]


def _cross(openers: Iterable[str], ends: Iterable[str]) -> list[str]:
    return [opener + end for opener, end in itertools.product(openers, ends)]


def _put_into(frames: Iterable[str], pieces: Iterable[str]) -> list[str]:
    return [frame.replace("…", piece) for frame, piece in itertools.product(frames, pieces)]


QUOTES = _named("QUOTATION MARK", "APOSTROPHE", "PRIME", "GRAVE ACCENT", "ACUTE ACCENT")

CLOSERS = ["'", "''", "\\'", '"', "`", ")", "'))", "*/", "$$", "$q$", "\u2019", "\uff07", "E'\\'"]
SQL = [
    " OR '1'='1",
    " OR TRUE) --",
    "; DROP TABLE documents; --",
    " UNION SELECT id, text FROM chunks --",
    " || pg_sleep(9) || ",
    "::jsonb OR 1=1 /*",
    "\n; COMMIT; --",
    ' COLLATE "C',
]

PLACES = [":name", ":1", "::text", "%s", "%(name)s", "%%s", "%%", "%", "$1", "$2", "?", "??", "@p"]
PLACES += ["\\:name", "%d", "%1$s", "{}", "{0}", "{x!r}", "{0.__class__}", "{{x}}", "{{ 7*7 }}"]
PLACES += ["{% if x %}", "{# x #}", "<%= x %>", "${x}", "#{x}", "[[x]]", "<x>", "!x", "`x`"]

OPERATORS = ["->", "->>", "#>", "#>>", "@>", "<@", "?", "?|", "?&", "||", "-", "#-", "@?", "@@"]

PATHS = ["$", "$.*", "$.**", "$[*]", "$.a.b", '$."a"', "$bound", "$[*] ? (@ > $bound)"]
PATHS += ["$ ? (true)", "$[last]", "@", "exists(@)", "strict $", 'like_regex ".*"', "@.type()"]

PATH_ENDS = [
    '"[*] ? (true)', '") || (true', '\\") || (true', '") || (@ != "', "\\u0022) || (true", '"."b',
    '" || "" == "', '"[*] ? (@ == "', "x') || (true", '" starts with "', '\n") || (true',
]  # fmt: skip

JSON = [
    "{}", "[]", '""', "null", "true", '{"a": 1}', '["x"]', '{"filled": ["text"]}', '"]}', '"}]}',
    '{"values": {"text": ["x"]}}', '", "', '": "', "'{}'::jsonb", "{a,b}", '{"a","b"}', "(,)",
]  # fmt: skip

ESCAPES = ["\\", "\\\\", "\\n", "\\0", "\\u0027", "\\u0000", "\\x27", "\\047", "U&'\\0027'", "%27"]
ESCAPES += ["%2527", "%00", "%u0027", "&#39;", "&apos;", "&quot;", "\\N{APOSTROPHE}", "=27", "\\."]

COMMENTS = [
    "--", "-- \n", "/*", "*/", "/**/", "/*/*", "/*! x */", "#", "//", "<!--", ";", ";--", ";;",
]  # fmt: skip

CONTROLS = [*map(chr, range(1, 32)), "\x7f", "\x85"]
INVISIBLE = [c for c in _BASIC_PLANE if unicodedata.category(c) in {"Cf", "Zs", "Zl", "Zp"}]

SCRIPTS = [
    "عربى", "עברית", "\u202edcba\u202c", "知识库", "한국", "\u1112\u1161\u11ab", "हिन्दी", "ไทย",
    "e\u0301", "a\u0323\u0307", "Z" + "\u0310\u0321\u0334" * 20, "ﬁ", "İ", "ß", "Ω", "\u212b",
    "😀", "👩‍👩‍👧", "👍🏽", "🇫🇷", "1️⃣", "𝒳", "\U0010fffd", "\ufffd", "\uffff", "\ue000", "\ufdd0",
]  # fmt: skip

NULLS = ["NULL", "null", "None", "nil", "undefined", "(null)", "\\N", "void", "DEFAULT", "false"]
NUMBERS = [
    "0", "-0", "7", "007", "7.0", "7.", ".5", "1e3", "1_000", "1,000", "0x1F", "0b1", "1e999",
    "NaN", "Infinity", "-inf", "１２", "٣", "½", "Ⅻ", "²", "+7", "1e-7", "9" * 200, "1;2",
]  # fmt: skip
DATES = ["2025-02-30", "2025-04-09", "0000-00-00", "infinity", "now", "epoch", "allballs"]
OURS = [
    "filled", "values", "numbers", "booleans", "instants", "bound", "id", "seq", "ctid",
    "public", "doc_metadata", "filter_values", "current_user", "__proto__", "constructor",
    "__class__",
]  # fmt: skip

BLANKS = [" ", "  ", "\t", "\n", "\r\n", " x", "x ", "\u3000"]
LONG = ["n" * LONGEST_NAME, "'" * LONGEST_NAME, "字" * LONGEST_NAME, "😀" * LONGEST_NAME]
LONGER = [f"{end}{'x' * 10_000}{end}" for end in ("'", '"', "\\", "%s", "$1")]

_PLAIN = [
    *QUOTES,
    *_cross(CLOSERS, SQL),
    *_put_into(["…", "a…'"], PLACES),
    *_put_into(["…", "'text' … 'x'"], OPERATORS),
    *_put_into(["…", "'…'"], PATHS),
    *_put_into(["…", "a…", '…"'], PATH_ENDS),
    *JSON,
    *_put_into(["…", "a…'"], ESCAPES),
    *_put_into(["…", "x'…y"], COMMENTS),
    *_put_into(["a…b"], [*CONTROLS, *INVISIBLE]),
    *_put_into(["…", "…' OR '"], SCRIPTS),
    *NULLS,
    *NUMBERS,
    *DATES,
    *OURS,
    *BLANKS,
    *LONG,
]
NAMES = list({unicodedata.normalize("NFC", each): each for each in _PLAIN}.values())
VALUES = [*NAMES, *LONGER]

BATCH = 50


def overlap(texts: Sequence[str]) -> list[Sequence[str]]:
    """Returns batches of one size, so that whatever is asked of each is one statement.

    The last one begins before the end of the one before.
    """
    starts = [*range(0, len(texts) - BATCH, BATCH), len(texts) - BATCH]
    return [texts[start : start + BATCH] for start in starts]
