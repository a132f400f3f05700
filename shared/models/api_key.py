"""The keys of model servers: a setting's own, or the one that Secrets Manager keeps."""

from collections.abc import Callable
from typing import Protocol

from pydantic import SecretStr

from shared.errors import Unavailable
from shared.secrets import read_secret

type FindKey = Callable[[], SecretStr | None]


class KeySettings(Protocol):
    """What finding the key of the OpenAI-compatible server needs of the settings."""

    @property
    def openai_api_key(self) -> SecretStr | None:
        """The key, if the server asks for one."""
        ...

    @property
    def openai_api_key_secret(self) -> str | None:
        """ARN of the secret that holds the key."""
        ...


def find_openai_key(settings: KeySettings, failure: type[Unavailable]) -> SecretStr | None:
    """Returns the OpenAI-compatible server's key; raises as `find_api_key`."""
    return find_api_key(settings.openai_api_key, settings.openai_api_key_secret, failure)


def find_api_key(
    key: SecretStr | None, secret: str | None, failure: type[Unavailable]
) -> SecretStr | None:
    """Returns the key, or what the secret of this ARN holds; None where the server asks for none.

    Raises:
        Unavailable: as `failure`: the secret can't be read now.
    """
    if key is not None or secret is None:
        return key
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415, long to load

    try:
        return SecretStr(read_secret(secret))
    except (BotoCoreError, ClientError) as error:
        raise failure("the key of the model server can't be read") from error
