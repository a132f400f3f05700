"""Dify's weighted score as its weight reranker reckons it: keywords extracted at query time.

After `weight_rerank.py` and the jieba keyword table of Dify, with jieba's own stop words.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from jieba import analyse

type Keywords = frozenset[str]

RUN = re.compile(r"\w+")


def extract_keywords(text: str) -> Keywords:
    """Returns jieba's tags, and the parts of such as have any."""
    found = set()
    for tag in analyse.extract_tags(text, topK=None):
        found.add(tag)
        runs = RUN.findall(tag)
        if len(runs) > 1:
            found |= {run for run in runs if run not in analyse.default_tfidf.stop_words}
    return frozenset(found)


def keyword_scores(query: str, texts: Sequence[str]) -> list[float]:
    """Returns the cosine of each text's keywords, by their TF-IDF, with the query's."""
    asked = extract_keywords(query)
    kept = [extract_keywords(text) for text in texts]
    df = Counter(word for words in kept for word in words)
    idf = {word: math.log((1 + len(texts)) / (1 + often)) + 1 for word, often in df.items()}
    wanted = {word: count * idf.get(word, 0.0) for word, count in Counter(asked).items()}
    return [
        _cosine(wanted, {word: count * idf[word] for word, count in Counter(words).items()})
        for words in kept
    ]


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = sum(one[word] * other[word] for word in one.keys() & other.keys())
    norms = sum(x**2 for x in one.values()) * sum(x**2 for x in other.values())
    return product / math.sqrt(norms) if norms else 0.0
