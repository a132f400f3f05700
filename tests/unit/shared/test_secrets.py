import time

import pytest
from botocore.exceptions import ReadTimeoutError

from shared.secrets import PATIENCE_SECONDS, read_secret
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.silence import silent_server


def test_a_manager_that_says_nothing_is_left_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with silent_server() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url)
        begun = time.monotonic()
        with pytest.raises(ReadTimeoutError):
            read_secret("arn:aws:secretsmanager:us-east-1:123456789012:secret:key")
    assert time.monotonic() - begun < 12 * PATIENCE_SECONDS  # not five times a minute
