import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import DocumentRefused
from shared.files.decode import Decoded, decode

TEXT = "退款需要七个工作日。 Refunds take 7 days 😀"
WITHOUT_SURROGATES = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_l04_a_byte_order_mark_names_the_encoding_and_is_no_text(
    mark: bytes, encoding: str
) -> None:
    assert decode(mark + TEXT.encode(encoding)) == Decoded(TEXT, encoding)


@given(WITHOUT_SURROGATES.filter(lambda text: not text.startswith("\ufeff")))
def test_utf_8_is_read_back_exactly(text: str) -> None:
    assert decode(text.encode()) == Decoded(text, "utf-8")


@pytest.mark.parametrize("charset", ["gbk", "GB2312", "gb18030"])
def test_l04_a_declared_charset_is_taken_where_utf_8_fails(charset: str) -> None:
    text = "退款需要七个工作日，请联系客服。囍"
    assert decode(text.encode("gb18030"), charset) == Decoded(text, "gb18030")


def test_l04_utf_8_wins_over_a_wrong_declaration() -> None:
    assert decode(TEXT.encode(), "gbk").text == TEXT


@pytest.mark.parametrize(
    ("charset", "written", "text"),
    [
        ("Shift_JIS", "cp932", "①㈱髙橋"),
        ("x-sjis", "cp932", "返金は七日以内"),
        ("Big5", "big5hkscs", "在這裏嘅退款"),
        ("iso-8859-9", "cp1254", "“güneş”"),
        ("TIS-620", "cp874", "สวัสดี"),
        ("windows-874", "cp874", "สวัสดี"),
        ("iso-8859-8-i", "iso8859-8", "שלום"),
    ],
)
def test_a_charset_is_what_browsers_take_it_for(charset: str, written: str, text: str) -> None:
    assert decode(text.encode(written), charset) == Decoded(text, written)


def test_latin_1_is_what_browsers_take_it_for() -> None:
    assert decode(b"\x93Gr\xfc\xdfe\x94", "ISO-8859-1") == Decoded("“Grüße”", "cp1252")


def test_a_seven_bit_charset_is_taken_though_its_bytes_are_utf_8() -> None:
    assert decode("返金".encode("iso-2022-jp"), "ISO-2022-JP") == Decoded("返金", "iso2022_jp")
    assert decode("退款".encode(), "ISO-2022-JP").text == "退款"


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be", "UTF-16", "utf-32-le"])
def test_a_wide_charset_is_taken_though_its_bytes_are_utf_8(charset: str) -> None:
    encoded = "words".encode(charset).removeprefix(codecs.BOM_UTF16)
    assert decode(encoded, charset).text == "words"
    assert decode(b"words", charset) == Decoded("words", "utf-8")


@pytest.mark.parametrize("before", ["", "words " * 50_000])
@pytest.mark.parametrize("rest", [b"\xff", b"\xfc ber", "Köln".encode()[:2]])
def test_utf_8_with_a_damaged_byte_is_refused_and_no_other_encoding(
    before: str, rest: bytes
) -> None:
    data = (before + "Schöne Grüße aus Köln. " * 10).encode() + rest
    with pytest.raises(DocumentRefused, match=r"is not written in UTF-8: the byte 0x.. at offset"):
        decode(data)


def test_japanese_in_seven_bits_is_told_without_a_declaration() -> None:
    text = "返金は7日以内。\nSee below."
    data = text.encode("iso-2022-jp")
    assert decode(data) == Decoded(text, "iso2022_jp", guessed=True)
    assert decode(b"\x1b[31mred\x1b[0m").text == "\x1b[31mred\x1b[0m"
    assert decode(data + "返金".encode()).encoding == "utf-8"


def test_japanese_in_seven_bits_may_have_what_windows_writes_in_it() -> None:
    assert decode(b"\x1b$B-!JV6b-j\x1b(B end", "iso-2022-jp").text == "①返金㈱ end"
    with pytest.raises(DocumentRefused, match="ISO2022_JP"):
        decode(b"\x1b$B~~\x1b(B \x1b(I1", "iso-2022-jp")


def test_l04_without_a_declaration_the_encoding_is_guessed_and_says_so() -> None:
    text = "退款需要七个工作日，请联系客服。"
    assert decode(text.encode("gbk")) == Decoded(text, "gb18030", guessed=True)


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"\xef\xbb\xbfab\xc3", 5),
        (b"\xff\xfea\x00\x00\xd8", 4),
        (b"abc\xff\x01", 3),  # no text has a control character
        (b"\x00\xed\xa0\x80", 1),
    ],
)
def test_l04_unreadable_bytes_are_refused_with_their_place(data: bytes, offset: int) -> None:
    with pytest.raises(
        DocumentRefused, match=f"0x{data[offset]:02X} at offset {offset} "
    ) as refused:
        decode(data)
    assert refused.value.code == "encoding"


def test_a_declared_charset_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DocumentRefused, match="SHIFT_JIS") as refused:
        decode(b"\xff\xff\xff", "shift_jis")
    assert refused.value.code == "encoding"


@pytest.mark.parametrize(
    "charset", ["klingon", "unicode_escape", "idna", "hex", "rot13", "utf-7", ""]
)
def test_a_charset_that_no_file_is_written_in_is_refused(charset: str) -> None:
    with pytest.raises(DocumentRefused, match="unknown") as refused:
        decode(b"\\ud800\xff", charset)
    assert refused.value.code == "encoding"


@given(st.binary(max_size=20), st.sampled_from([None, "gbk", "utf-16", "latin-1", "big5"]))
def test_any_bytes_become_clean_text_or_are_refused(data: bytes, charset: str | None) -> None:
    try:
        decode(data, charset).text.encode("utf-8")
    except DocumentRefused as refused:
        assert refused.code == "encoding"


@pytest.mark.parametrize("charset", [None, "gbk", "utf-8"])
def test_l04_a_replacement_character_is_only_ever_the_files_own(charset: str | None) -> None:
    assert decode("a\ufffdb".encode(), charset).text == "a\ufffdb"


@given(
    st.binary(max_size=20),
    st.sampled_from([None, "gbk", "shift_jis", "latin-1", "big5", "utf-8"]),
)
def test_l04_no_bytes_are_ever_replaced(data: bytes, charset: str | None) -> None:
    try:
        decoded = decode(data, charset)
    except DocumentRefused:
        return
    if "\ufffd" in decoded.text:
        assert decoded.text.encode(decoded.encoding) in data
