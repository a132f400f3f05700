"""What is asked of the engine: pure functions from values to request bodies.

Hits come back as chunk id and score alone, read from columns: loading `_id` or `_source` of 100
hits takes longer than finding them.
"""

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import batched
from typing import Any

from pyroaring import BitMap

from shared.model import AllDocuments, SearchScope, TheseDocuments, Vector
from shared.opensearch.mapping import SPACE_TYPE

type Body = dict[str, Any]

BM25 = "bm25"
"""The name under which hits bring their BM25 along."""

_MOST_TERMS = 65_536
"""What the engine takes in one list of terms."""

_COSINE = "cosineSimilarity(params.query, doc['vector'])"
_BEST_FIRST = [{"_score": "desc"}, {"chunk": "asc"}]


def vector_body(scope: SearchScope, vector: Vector, depth: int, words: Sequence[str] = ()) -> Body:
    """Asks for the nearest chunks of the scope by way of the graph: quick, nearly all of them."""
    nearest = {"vector": vector.tolist(), "k": depth, "filter": filter_scope(scope)}
    return _ids(_with_bm25({"knn": {"vector": nearest}}, words), depth)


def exact_vector_body(
    scope: SearchScope, vector: Vector, depth: int, words: Sequence[str] = ()
) -> Body:
    """Asks for the nearest chunks by looking at every one of the scope."""
    script = {
        "lang": "knn",
        "source": "knn_score",
        "params": {"field": "vector", "query_value": vector.tolist(), "space_type": SPACE_TYPE},
    }
    every = {"script_score": {"query": filter_scope(scope), "script": script}}
    return _ids(_with_bm25(every, words), depth)


def text_body(
    scope: SearchScope, words: Sequence[str], depth: int, vector: Vector | None = None
) -> Body:
    """Asks for chunks with any of the words, each counted as often as the query has it.

    Which of those come in that tie with the last one, the engine decides; that is quicker.
    """
    body = ordered_text_body(scope, words, depth, vector)
    del body["sort"]
    return body | {"docvalue_fields": ["chunk"]}


def ordered_text_body(
    scope: SearchScope, words: Sequence[str], depth: int, vector: Vector | None = None
) -> Body:
    """Asks for the same; of those that tie, the first by chunk id come in."""
    body = _ids(_any_of(scope, _match(words)), depth)
    return body if vector is None else body | _with_cosine(vector)


def keyword_body(
    scope: SearchScope, keywords: Sequence[str], depth: int, words: Sequence[str] = ()
) -> Body:
    """Asks for chunks with any of the keywords; each adds its idf to the score."""
    terms = [{"term": {"keywords": keyword}} for keyword in dict.fromkeys(keywords)]
    return _ids(_with_bm25(_any_of(scope, terms), words), depth)


def cosines_body(scope: SearchScope, chunk_ids: Sequence[str], vector: Vector) -> Body:
    """Asks for the true cosine of these chunks of the scope."""
    query = filter_scope(scope)
    query["bool"]["filter"].append({"terms": {"chunk": list(chunk_ids)}})
    return _ids(query, len(chunk_ids)) | _with_cosine(vector)


def statistics_body(words: Sequence[str]) -> Body:
    """Asks in how many chunks each word is, by way of a document that is not stored."""
    return {
        "doc": {"text": " ".join(words)},
        "fields": ["text"],
        "term_statistics": True,
        "field_statistics": True,
        "positions": False,
        "offsets": False,
        "payloads": False,
    }


def listing_body(after: str | None, until: str | None, limit: int) -> Body:
    """Asks for chunks by id, with the version of each and whose they are.

    What a hand put in without any id comes first.
    """
    bounds = {"gt": after, "lte": until}
    query: Body = {"range": {"chunk": {k: v for k, v in bounds.items() if v is not None}}}
    order = {"order": "asc"}
    if after is None:
        nameless = {"bool": {"must_not": {"exists": {"field": "chunk"}}}}
        query = {"bool": {"should": [query, nameless]}}
        order["missing"] = "_first"  # on the other pages it would have the engine look at all
    return {
        "query": query,
        "size": limit,
        "sort": [{"chunk": order}],
        "version": True,
        "_source": False,
        "docvalue_fields": ["dataset", "document"],
        "track_total_hits": False,
    }


def filter_scope(scope: SearchScope) -> Body:
    """Returns the query that exactly the chunks pass which a search of the scope may find."""
    whole = [dataset for dataset, allowed in scope.datasets if isinstance(allowed, AllDocuments)]
    listed = {
        dataset: documents.seqs
        for dataset, documents in scope.datasets
        if isinstance(documents, TheseDocuments)
    }
    allowed: list[Sequence[Body]] = []
    if whole or not listed:
        allowed.append([_of_datasets(whole)])
    if listed:
        allowed.append([_of_datasets(list(listed)), _documents(_join(listed.values()))])
    passing: Body = {"filter": [{"term": {"tenant": scope.tenant_id}}]}
    if len(allowed) == 1:
        passing["filter"] += allowed[0]
    else:
        either = [{"bool": {"filter": clauses}} for clauses in allowed]
        passing["filter"].append({"bool": {"should": either}})
    excluded = [_documents(scope.hidden)] if scope.hidden else []
    excluded += [
        {"terms": {"chunk": ids}} for ids in batched(scope.disabled, _MOST_TERMS, strict=False)
    ]
    if excluded:
        passing["must_not"] = excluded
    return {"bool": passing}


def _of_datasets(ids: Sequence[str]) -> Body:
    # A single term is read as the engine goes along; several are gathered first.
    return {"term": {"dataset": ids[0]}} if len(ids) == 1 else {"terms": {"dataset": list(ids)}}


def _join(allowlists: Iterable[BitMap]) -> BitMap:
    # A number belongs to one dataset, so one bitmap serves all. Where datasets grew at the same
    # time, each of theirs would be as large as the joint one.
    joint = BitMap.union(*allowlists)
    joint.run_optimize()  # numbers in a row take no space
    return joint


def _documents(seqs: BitMap) -> Body:
    # A bitmap takes any number of documents; plain terms stop at 65,536.
    packed = base64.b64encode(seqs.serialize()).decode()
    return {"terms": {"document": [packed], "value_type": "bitmap"}}


def _any_of(scope: SearchScope, clauses: Sequence[Body]) -> Body:
    # As one required clause beside the filter, for which the engine still passes over what can't
    # come in; with the clauses beside the filter themselves it looks at more.
    query = filter_scope(scope)
    query["bool"]["must"] = [{"bool": {"should": list(clauses)}}]
    return query


def _match(words: Sequence[str]) -> list[Body]:
    # One clause a word: a word that is repeated counts among the engine's most clauses only once.
    return [
        {"match": {"text": {"query": word, "boost": times}}}
        for word, times in Counter(words).items()
    ]


def _with_bm25(query: Body, words: Sequence[str]) -> Body:
    """Has the hits bring their BM25 for these words along; finds and orders them as before."""
    if not words:
        return query
    # A named query is scored for each hit by itself, whatever it adds to the hit's score.
    named = {"bool": {"should": _match(words), "_name": BM25}}
    nothing = {"constant_score": {"filter": named, "boost": 0}}
    return {"bool": {"must": [query], "should": [nothing]}}


def _ids(query: Body, size: int) -> Body:
    return {
        "query": query,
        "size": size,
        "_source": False,
        "stored_fields": "_none_",
        "sort": _BEST_FIRST,
        "track_total_hits": False,
    }


def _with_cosine(vector: Vector) -> Body:
    script = {"source": _COSINE, "params": {"query": vector.tolist()}}
    return {"script_fields": {"cosine": {"script": script}}}
