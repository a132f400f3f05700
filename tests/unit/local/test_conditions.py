from local.conditions import describe_filter


def test_a_filter_reads_like_a_sentence() -> None:
    filtering = {
        "logical_operator": "AND",
        "conditions": [
            {"name": "public", "comparison_operator": "is", "value": True},
            {"name": "author", "comparison_operator": "empty"},
            {
                "logical_operator": "or",
                "conditions": [
                    {"name": "tags", "comparison_operator": "in", "value": ["a", 3]},
                    {"name": "kind", "comparison_operator": "is", "value": "{{kind}}"},
                ],
            },
            {
                "logical_operator": "not",
                "conditions": [{"name": "year", "comparison_operator": "<", "value": 2026}],
            },
        ],
        "inputs": {"kind": "报告"},
    }
    assert describe_filter(filtering) == (
        "public is true and author empty and (tags in [a, 3] or kind is {{kind}}) "
        "and not (year < 2026); inputs kind = 报告"
    )
