"""Which of the two local models fits some texts."""

import re
from collections.abc import Iterable
from itertools import islice

ENGLISH, CHINESE = "bge-small-en-v1.5", "bge-small-zh-v1.5"
HAN_SHARE = 0.3
"""Of the letters; Chinese texts about technical things hold many Latin words."""

SAMPLE = 200
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")


def choose_model(texts: Iterable[str]) -> str:
    """Returns the model for most of these texts; the first ones speak for all."""
    sample = "".join(islice(texts, SAMPLE))
    letters = len(_LETTER.findall(sample))
    return CHINESE if len(_HAN.findall(sample)) > HAN_SHARE * letters else ENGLISH
