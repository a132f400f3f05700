import json

from shared.fusion.explain import Explanation
from shared.fusion.weighted import Weights
from shared.model import Channel, Standing


def test_json_has_the_names_of_the_contract() -> None:
    explanation = Explanation(
        channels={Channel.VECTOR: Standing(1, 0.4), Channel.TEXT: Standing(2, None)},
        vector_score=0.4,
        keyword_score=1.0,
        weights=Weights(0.7, 0.3),
        final_score=0.58,
        threshold=0.5,
    )
    assert json.loads(json.dumps(explanation.to_json())) == {
        "channels": {"vector": {"rank": 1, "score": 0.4}, "text": {"rank": 2, "score": None}},
        "vector_score": 0.4,
        "keyword_score": 1.0,
        "weights": {"vector": 0.7, "keyword": 0.3},
        "rerank_score": None,
        "final_score": 0.58,
        "threshold": 0.5,
    }
