"""What the embedding spaces of a query allow: cosines of different models are never compared."""

from collections.abc import Sequence

from shared.errors import InvalidRequest
from shared.fusion.fuse import FusionMethod, FusionPlan
from shared.http.bodies import NEEDS_VECTORS, check_method
from shared.model import Dataset, EmbeddingSpace, SearchMethod, Vector
from shared.models.vectors import VectorRefused, as_vector, unit

MOST_SPACES = 4
"""Each is searched by itself, with threads of its own."""

_APART = "or ask each model's datasets in a query of their own"


def list_spaces(datasets: Sequence[Dataset]) -> list[EmbeddingSpace]:
    """Returns the distinct embedding spaces of our own datasets, in the order of these."""
    return list(dict.fromkeys(dataset.space for dataset in datasets if dataset.external is None))


def check_spaces(spaces: Sequence[EmbeddingSpace], plan: FusionPlan) -> None:
    """Raises `InvalidRequest` where these can't be searched in this way, or not together."""
    for space in spaces:
        check_method(plan.search_method, space, "/search_method")
    if len(spaces) <= 1:
        return
    if len(spaces) > MOST_SPACES:
        told = f"these datasets have {len(spaces)} different embedding models; at most"
        raise InvalidRequest.at("/dataset_ids", f"{told} {MOST_SPACES} are searched in one query")
    if plan.search_method not in NEEDS_VECTORS:
        return
    if plan.method is not FusionMethod.RRF:
        told = "these datasets have different embedding models, whose cosines can't be compared"
        way = "choose the fusion method reranking_model, or hybrid_search with rrf"
        raise InvalidRequest.at("/dataset_ids", f"{told}: {way}, {_APART}")
    if any(space.provider == "given" for space in spaces):
        told = "these datasets have different embedding models, one of which needs the query's"
        raise InvalidRequest.at("/dataset_ids", f"{told} vector: choose full_text_search, {_APART}")


def read_vector(
    sent: Sequence[float] | None, spaces: Sequence[EmbeddingSpace], method: SearchMethod
) -> Vector | None:
    """Returns the query vector that was sent, at length 1; None where there is none.

    Raises:
        InvalidRequest: it does not fit, or is missing and has to be there.
    """
    if not spaces:
        return None
    if len(spaces) > 1:
        if sent is not None:
            raise InvalidRequest.at(
                "/query_vector", "belongs to one embedding model; these datasets have several"
            )
        return None
    [space] = spaces
    if sent is None:
        if space.provider == "given" and method in NEEDS_VECTORS:
            raise InvalidRequest.at("/query_vector", "this dataset needs a vector with each query")
        return None
    if not space.has_vectors:
        raise InvalidRequest.at("/query_vector", "an economy dataset has no vectors")
    try:
        # Only its direction counts; a length that float32 can't square would lose it.
        return unit(as_vector(sent, space.dimension))
    except VectorRefused as error:
        raise InvalidRequest.at("/query_vector", str(error)) from error
