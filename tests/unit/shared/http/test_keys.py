import asyncio

import pytest
from starlette.requests import Request

from shared.errors import KeyUnknown, Unauthorized
from shared.http.keys import Caller, guard
from shared.settings import DEFAULT_TENANT

KEY = "k" * 32


def call(key: str | None, authorization: str | None) -> Caller:
    headers = [] if authorization is None else [(b"authorization", authorization.encode("latin-1"))]

    async def come_in() -> Caller:
        return await guard(key)(Request({"type": "http", "headers": headers}))

    return asyncio.run(come_in())


@pytest.mark.parametrize("sent", [f"Bearer {KEY}", f"bearer {KEY}", f"BEARER  {KEY} "])
def test_the_holder_of_the_key_comes_in(sent: str) -> None:
    caller = call(KEY, sent)
    assert (caller.tenant_id, caller.name) == (DEFAULT_TENANT, "bootstrap")


@pytest.mark.parametrize(
    "sent",
    [None, "", "Bearer", "Bearer ", f"Token {KEY}", KEY, f"Bearer {KEY}x", f"Bearer {KEY[1:]}",
     f"Basic {KEY}", "Bearer \xff"],
)  # fmt: skip
def test_nobody_else_does(sent: str | None) -> None:
    with pytest.raises(Unauthorized) as refused:
        call(KEY, sent)
    assert KEY not in str(refused.value)
    is_bearer = sent is not None and sent.startswith("Bearer ") and sent != "Bearer "
    assert isinstance(refused.value, KeyUnknown) == is_bearer


@pytest.mark.parametrize("nothing", [None, ""])
def test_without_a_key_nobody_comes_in(nothing: str | None) -> None:
    for sent in (None, "Bearer ", "Bearer x"):
        with pytest.raises(Unauthorized):
            call(nothing, sent)
