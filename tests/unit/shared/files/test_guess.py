import re
from pathlib import Path

import pytest

from shared.files.guess import guess_encoding

CHINESE = [
    line.strip()
    for file in sorted((Path(__file__).parents[4] / "examples/zh").glob("*.md"))
    for line in file.read_text(encoding="utf-8").splitlines()
    if re.search("[\u4e00-\u9fff]{2}", line)
]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("退款需要七个工作日，请联系客服。", "gb18030"),
        ("编号,名称\n007,螺栓\n", "gb18030"),
        ("退款", "gb18030"),
        ("退款需要七個工作天，請聯絡客服。", "big5"),
        ("在這裏嘅退款需要七個工作天。", "big5hkscs"),
        ("返金は7日以内に行われます。", "cp932"),
        ("返金は7日以内に行われます。", "euc_jp"),
        ("환불은 영업일 기준 7일이 걸립니다.", "cp949"),
        ("Возврат занимает семь рабочих дней.", "cp1251"),
        ("Возврат занимает семь рабочих дней.", "koi8_r"),
        ("Η επιστροφή χρημάτων διαρκεί επτά ημέρες.", "cp1253"),
        ("Le remboursement est effectué après réception, à votre charge.", "cp1252"),
    ],
)
def test_l04_a_sentence_is_enough(text: str, encoding: str) -> None:
    assert guess_encoding(text.encode(encoding)) == encoding


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Probar los siguientes términos: ñandú, ándale, índice, cargó, último", "cp1252"),
        ("Återbetalning sker inom sju arbetsdagar på vår hemsida.", "cp1252"),
        ("O reembolso é efetuado em até sete dias úteis. Não é necessária devolução.", "cp1252"),
        ("Café crème à la carte", "cp1252"),
        ("São João é amanhã", "cp1252"),
        ("Rødgrød med fløde", "cp1252"),
        ("naïve", "cp1252"),
        ("Vrácení peněz proběhne do sedmi dnů. Kontaktujte zákaznickou linku.", "cp1250"),
        ("Zażółć gęślą jaźń", "cp1250"),
        ("A visszatérítés hét munkanapon belül megtörténik. Őszintén sajnáljuk.", "cp1250"),
        ("Restituirea banilor se face în şapte zile. Vă rugăm să contactaţi.", "cp1250"),
        ("İade yedi iş günü içinde yapılır.", "cp1254"),
        ("Привет, как дела?", "koi8_r"),
    ],
)
def test_letters_tell_encodings_apart_that_make_words_of_the_same_bytes(
    text: str, encoding: str
) -> None:
    data = text.encode(encoding)
    assert data.decode(guess_encoding(data) or "") == text


@pytest.mark.parametrize("characters", [8, 1000])
def test_l04_every_line_of_the_chinese_examples_is_recognised(characters: int) -> None:
    assert len(CHINESE) > 300
    lines = [re.sub("^[^\u4e00-\u9fff]+", "", line)[:characters] for line in CHINESE]
    assert [
        line for line in lines if guess_encoding(line.encode("gbk", "ignore")) != "gb18030"
    ] == []


@pytest.mark.parametrize(
    "text", ["Grüße aus Köln", "“The refund’s due”", "Zwrot pieniędzy, proszę"]
)
def test_the_text_is_right_where_several_encodings_are_alike(text: str) -> None:
    encoded = text.encode("cp1250")
    assert encoded.decode(guess_encoding(encoded) or "") == text


@pytest.mark.parametrize(
    "data",
    [b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", b"caf\xe9\x01"],
)
def test_what_has_control_characters_is_no_text(data: bytes) -> None:
    assert guess_encoding(data) is None
