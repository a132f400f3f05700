"""Expands template.yaml to plain CloudFormation, offline. Runs in SAM CLI's environment.

expand_template.py TARGET
"""

import json
import os
import sys
from pathlib import Path

from samcli.yamlhelper import yaml_parse  # type: ignore[import-not-found]  # SAM CLI is not in .venv
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

ROOT = Path(__file__).parent.parent
_MANAGED = "arn:aws:iam::aws:policy/service-role/"
MANAGED_POLICIES = {
    name: _MANAGED + name
    for name in ("AWSLambdaBasicExecutionRole", "AWSLambdaVPCAccessExecutionRole")
}


def expand() -> dict[str, object]:
    """Returns the template without its SAM resources; artifacts get places in S3 that are none."""
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    template = yaml_parse((ROOT / "template.yaml").read_text(encoding="utf-8"))
    for resource in template["Resources"].values():
        for name in {"CodeUri", "ContentUri"} & resource.get("Properties", {}).keys():
            resource["Properties"][name] = "s3://bucket/artifact"
    return dict(Translator(MANAGED_POLICIES, Parser()).translate(template, {}))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(expand(), indent=1), encoding="utf-8")
