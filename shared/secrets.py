"""What Secrets Manager keeps: read when it is needed, never written into an environment."""

PATIENCE_SECONDS = 2.0
"""For connecting, and for each wait for a byte: who reads a secret holds a thread of the pool."""


def read_secret(arn: str) -> str:
    """Returns the text of a secret, asked for twice at most; raises botocore's errors.

    A line end behind it, which a file brings along that it was put from, is no part of it.
    """
    import boto3  # noqa: PLC0415  it takes long to load, and not every process has secrets
    from botocore.config import Config  # noqa: PLC0415

    patient = Config(
        connect_timeout=PATIENCE_SECONDS,
        read_timeout=PATIENCE_SECONDS,
        retries={"total_max_attempts": 2},
    )
    client = boto3.client("secretsmanager", config=patient)
    return str(client.get_secret_value(SecretId=arn)["SecretString"]).strip()
