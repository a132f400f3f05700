"""nDCG@10, recall@10 and MRR@10, as trec_eval counts: linear gain, over all judged queries."""

from collections.abc import Mapping, Sequence

import ir_measures
import numpy as np
from ir_measures import RR, R, nDCG
from numpy.typing import NDArray

from local.evaluation.judgements import Grades

CUT = 10
_MEASURES = {"nDCG@10": nDCG @ CUT, "recall@10": R @ CUT, "MRR@10": RR @ CUT}
NAMES = tuple(_MEASURES)

type Run = Mapping[str, Sequence[str]]
"""Query id → document ids, best first; a document counts where it is first seen."""

type Figures = Mapping[str, NDArray[np.float64]]
"""Measure → its figure of each judged query, shape (queries,), in [0, 1]."""


def measure_each(grades: Grades, run: Run) -> Figures:
    """Returns each measure's figure of every judged query, in the order of the grades.

    A query that was not answered counts 0; a negative grade counts as 0.
    """
    qrels = [
        ir_measures.Qrel(query, document, max(0, grade))
        for query, judged in grades.items()
        for document, grade in judged.items()
    ]
    ranked = [
        # trec_eval orders by score, and ties as it likes: ranks become scores without ties.
        ir_measures.ScoredDoc(query, document, -float(rank))
        for query, documents in run.items()
        for rank, document in enumerate(dict.fromkeys(documents))
    ]
    places = {query: place for place, query in enumerate(grades)}
    figures = {measure: np.zeros(len(grades)) for measure in _MEASURES.values()}
    for each in ir_measures.iter_calc(list(figures), qrels, ranked):
        figures[each.measure][places[each.query_id]] = each.value
    return {name: figures[wanted] for name, wanted in _MEASURES.items()}


def measure(grades: Grades, run: Run) -> dict[str, float]:
    """Returns each measure's mean over the judged queries, each in [0, 1]."""
    return {name: float(each.mean()) for name, each in measure_each(grades, run).items()}
