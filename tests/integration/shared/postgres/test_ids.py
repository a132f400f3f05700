"""Conditions over more ids than a statement has parameters."""

import uuid

import pytest
from sqlalchemy import Engine, select

from shared.postgres.engine import read
from shared.postgres.ids import is_after, is_one_of
from shared.postgres.tables import tenants
from shared.settings import DEFAULT_TENANT


def test_ids_may_be_more_than_a_statement_has_parameters(database: Engine) -> None:
    others = [str(uuid.uuid4()) for _ in range(70_000)]
    with read(database) as connection:
        found = select(tenants.c.id).where(is_one_of(tenants.c.id, [*others, DEFAULT_TENANT]))
        assert connection.scalars(found).all() == [DEFAULT_TENANT]
        assert (
            connection.scalars(select(tenants.c.id).where(is_one_of(tenants.c.id, []))).all() == []
        )


def test_a_text_that_can_be_no_id_is_the_id_of_nothing(database: Engine) -> None:
    odd = [
        "",
        "orphan-1",
        "退款",
        DEFAULT_TENANT[:-1],
        f"{DEFAULT_TENANT}0",
        f"{{{DEFAULT_TENANT}}}",
    ]
    with read(database) as connection:
        for ids, found in ((odd, []), ([*odd, DEFAULT_TENANT], [DEFAULT_TENANT])):
            among = select(tenants.c.id).where(is_one_of(tenants.c.id, ids))
            assert connection.scalars(among).all() == found


@pytest.mark.parametrize(
    "bound",
    ["", "0", "00000000-", "7", "Z", "orphan-1", "退款", DEFAULT_TENANT, f"{DEFAULT_TENANT}0"],
)
def test_ids_come_after_a_text_as_texts_do(database: Engine, bound: str) -> None:
    with read(database) as connection:
        ids = connection.scalars(select(tenants.c.id)).all()
        after = connection.scalars(select(tenants.c.id).where(is_after(tenants.c.id, bound))).all()
    assert sorted(after) == sorted(each for each in ids if each > bound)
