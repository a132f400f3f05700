"""Conditions over more ids than a statement has parameters."""

import uuid

from sqlalchemy import Engine, select

from shared.postgres.engine import read
from shared.postgres.ids import is_one_of
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
