"""What template.yaml promises: settings, permissions, queues."""

from collections.abc import Iterator
from typing import Any

import pytest

from functions.ingest.pipeline import MOST_ATTEMPTS
from functions.reconcile.handler import _LEFT_MILLISECONDS, COUNTED
from shared.content.keys import UPLOADS
from shared.models.embedders import KNOWN_MODELS
from shared.models.rerank_bedrock import MODELS
from shared.settings import Settings
from tests.artifacts import FUNCTIONS, logical_id

Resources = dict[str, Any]

NOT_ON_AWS = {
    "bootstrap_key": "its secret is named instead, and the function reads it",
    "openai_api_key": "likewise",
    "cohere_api_key": "likewise",
    "tei_api_key": "likewise",
    "local_models": "models on disk are for one machine; their runtime is in no layer",
}
OF_NO_RESOURCE = {"bedrock:Rerank"}
"""Actions that IAM can't restrict to a resource; each needs another permission for what it asks."""

SAM_ADDS = {
    "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole",
    "arn:aws:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole",
}
"""Lambda's own: writing logs, and being in a network."""


def test_the_functions_environment_is_exactly_the_settings(template: dict[str, Any]) -> None:
    in_template = set(template["Globals"]["Function"]["Environment"]["Variables"])
    for name in FUNCTIONS:
        properties = template["Resources"][logical_id(name)]["Properties"]
        in_template |= set(properties.get("Environment", {}).get("Variables", {}))
    expected = {f"WINNOW_{field}".upper() for field in Settings.model_fields.keys() - NOT_ON_AWS}
    assert in_template == expected


def test_the_environment_can_be_read_as_settings(
    template: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    written = {name: value for name, value in variables.items() if isinstance(value, str)}
    for name, value in written.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("WINNOW_DATABASE_URL", "postgresql+pg8000://winnow@db.example:5432/winnow")
    monkeypatch.setenv("WINNOW_OPENSEARCH_URL", "https://search.example")
    monkeypatch.setenv("WINNOW_CONTENT_URL", "s3://bucket/content")
    settings = Settings()
    assert settings.database_iam
    assert settings.opensearch_auth == "sigv4"
    assert settings.wait_seconds < template["Globals"]["Function"]["Timeout"]


def test_searches_are_allowed_for_the_prefix_that_is_set(template: dict[str, Any]) -> None:
    prefix = template["Globals"]["Function"]["Environment"]["Variables"]["WINNOW_INDEX_PREFIX"]
    indices = [
        resource["Fn::Sub"]
        for statement in _statements(template["Resources"])
        for resource in _listed(statement["Resource"])
        if "OpenSearchDomainArn" in str(resource) and "*" in str(resource)
    ]
    assert indices
    assert all(f"/{prefix}-*" in each for each in indices)


def test_the_key_has_the_length_that_is_asked_for(template: dict[str, Any]) -> None:
    secret = template["Resources"]["BootstrapKey"]["Properties"]["GenerateSecretString"]
    assert secret["PasswordLength"] >= 32
    assert secret["ExcludePunctuation"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_role_has_no_policy_but_ours_and_lambdas_own(resources: Resources, name: str) -> None:
    role = resources[f"{logical_id(name)}Role"]["Properties"]
    ours = {
        logical for logical, each in resources.items() if each["Type"] == "AWS::IAM::ManagedPolicy"
    }
    named = {each for each in role["ManagedPolicyArns"] if isinstance(each, str)}
    assert named == SAM_ADDS
    assert {each["Ref"] for each in role["ManagedPolicyArns"] if isinstance(each, dict)} <= ours


def test_no_permission_is_for_every_action_or_every_resource(resources: Resources) -> None:
    statements = [s for s in _statements(resources) if s["Effect"] == "Allow"]
    assert len(statements) > 8
    for statement in statements:
        for action in _listed(statement["Action"]):
            assert "*" not in action
        if set(_listed(statement["Action"])) <= OF_NO_RESOURCE:
            assert statement["Resource"] == "*"
            continue
        for resource in _listed(statement["Resource"]):
            assert resource != "*"
            # Only below something named: a bucket's prefix, a domain's indices.
            named = str(resource).split("*")[0]
            assert "${Documents.Arn}/" in named or "-" in named or "*" not in str(resource)


def test_only_the_functions_that_need_it_may_do_it(resources: Resources) -> None:
    assert _who_may("sqs:SendMessage", resources) == {"manage", "reconcile"}
    assert _who_may("sqs:ReceiveMessage", resources) == {"ingest"}
    assert _who_may("es:ESHttpPut", resources) == {"ingest", "reconcile"}
    assert _who_may("bedrock:InvokeModel", resources) == {"retrieve", "ingest"}
    assert _who_may("bedrock:Rerank", resources) == {"retrieve"}
    assert _who_may("secretsmanager:GetSecretValue", resources, "BootstrapKey") == {
        "retrieve",
        "manage",
    }
    assert _who_may("rds-db:connect", resources) == set(FUNCTIONS)
    assert _who_may("s3:GetObject", resources) == {"ingest", "manage"}
    for kept in ("${Documents.Arn}/content/*", "${Documents.Arn}/datasets/*"):
        assert _who_may("s3:GetObject", resources, kept) == {"ingest"}
    assert _who_may("s3:PutObject", resources) == {"ingest", "manage"}


def test_only_what_embeds_knows_the_model_servers_key_and_reads_it_itself(
    resources: Resources,
) -> None:
    setting = "WINNOW_OPENAI_API_KEY_SECRET"
    embedding = {"retrieve", "ingest"}
    assert _who_may("secretsmanager:GetSecretValue", resources, "OpenAiApiKeySecret") == embedding
    environments = {
        name: resources[logical_id(name)]["Properties"]["Environment"]["Variables"]
        for name in FUNCTIONS
    }
    assert {name for name, variables in environments.items() if setting in variables} == embedding
    assert "resolve:secretsmanager" not in str(resources)  # it would stand there in plain text


def test_only_retrieve_asks_reranking_models_and_only_those_there_are(
    resources: Resources,
) -> None:
    for model in MODELS:
        assert _who_may("bedrock:InvokeModel", resources, model) == {"retrieve"}
    for secret in ("CohereApiKeySecret", "TeiApiKeySecret"):
        assert _who_may("secretsmanager:GetSecretValue", resources, secret) == {"retrieve"}


def test_every_embedding_model_of_bedrock_may_be_asked(resources: Resources) -> None:
    for model in KNOWN_MODELS["bedrock"]:
        assert _who_may("bedrock:InvokeModel", resources, model) == {"retrieve", "ingest"}


def test_a_migration_has_all_the_time_there_is(resources: Resources) -> None:
    assert resources["MigrateFunction"]["Properties"]["Timeout"] == 900


def test_reconcile_runs_on_a_schedule_and_one_call_ends_before_the_next_begins(
    template: dict[str, Any], resources: Resources
) -> None:
    (rule,) = (
        each["Properties"]
        for each in resources.values()
        if each["Type"] == "AWS::Events::Rule" and "ScheduleExpression" in each["Properties"]
    )
    assert rule["ScheduleExpression"] == {"Ref": "ReconcileSchedule"}
    (target,) = rule["Targets"]
    assert target["Arn"] == {"Fn::GetAtt": ["ReconcileFunction", "Arn"]}
    timeout = resources["ReconcileFunction"]["Properties"]["Timeout"]
    assert template["Parameters"]["ReconcileSchedule"]["Default"] == "rate(1 hour)"
    assert _LEFT_MILLISECONDS / 1000 < timeout <= 900
    # A call that failed is not made again beside the next one.
    (again,) = (
        each["Properties"]
        for each in resources.values()
        if each["Type"] == "AWS::Lambda::EventInvokeConfig"
    )
    assert again["FunctionName"] == {"Ref": "ReconcileFunction"}
    assert again["MaximumRetryAttempts"] == 0


def test_somebody_is_told_of_what_does_not_repair_itself(resources: Resources) -> None:
    alarms = {
        name: each["Properties"]
        for name, each in resources.items()
        if each["Type"] == "AWS::CloudWatch::Alarm"
    }
    assert {
        (each["Namespace"], each["MetricName"], each["Threshold"]) for each in alarms.values()
    } == {
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible", 0),
        ("AWS/Lambda", "Errors", 0),
        ("Winnow", "LeftDifferences", 0),
        ("Winnow", "OldestWorkAge", 7200),
    }
    for each in alarms.values():
        assert each["ComparisonOperator"] == "GreaterThanThreshold"
        assert each["TreatMissingData"] == "notBreaching"
    named = {each["MetricName"] for each in alarms.values() if each["Namespace"] == "Winnow"}
    assert named <= {*COUNTED, "OldestWorkAge"}


def test_a_message_that_keeps_failing_ends_in_the_dead_letters(resources: Resources) -> None:
    redrive = resources["Changes"]["Properties"]["RedrivePolicy"]
    assert redrive["deadLetterTargetArn"] == {"Fn::GetAtt": ["DeadLetters", "Arn"]}
    assert redrive["maxReceiveCount"] <= 10
    # Given up before the queue does, so that the reason stands on the document.
    assert redrive["maxReceiveCount"] > MOST_ATTEMPTS
    kept = resources["DeadLetters"]["Properties"]["MessageRetentionPeriod"]
    assert kept > resources["Changes"]["Properties"]["MessageRetentionPeriod"]


def test_failed_records_come_back_alone_and_only_after_ingest_is_done(
    resources: Resources,
) -> None:
    mapping = resources["ChangesToIngest"]["Properties"]
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["FunctionName"] == {"Ref": "IngestFunction"}
    assert mapping["EventSourceArn"] == {"Fn::GetAtt": ["Changes", "Arn"]}
    timeout = resources["IngestFunction"]["Properties"]["Timeout"]
    assert resources["Changes"]["Properties"]["VisibilityTimeout"] == 6 * timeout


def test_objects_that_users_put_reach_the_queue_and_what_we_keep_does_not(
    resources: Resources,
) -> None:
    rule = resources["ObjectsToChanges"]["Properties"]
    assert rule["EventPattern"]["detail"]["object"]["key"] == [{"prefix": "datasets/"}]
    assert rule["EventPattern"]["detail-type"] == ["Object Created", "Object Deleted"]
    assert rule["EventPattern"]["detail"]["bucket"]["name"] == [{"Ref": "Documents"}]
    assert [target["Arn"] for target in rule["Targets"]] == [{"Fn::GetAtt": ["Changes", "Arn"]}]
    bucket = resources["Documents"]["Properties"]["NotificationConfiguration"]
    assert bucket == {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}


def test_only_that_rule_may_send_to_the_queues_from_outside(resources: Resources) -> None:
    policies = [r for r in resources.values() if r["Type"] == "AWS::SQS::QueuePolicy"]
    (statement,) = (s for p in policies for s in p["Properties"]["PolicyDocument"]["Statement"])
    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert statement["Action"] == "sqs:SendMessage"
    arn = {"Fn::GetAtt": ["ObjectsToChanges", "Arn"]}
    assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": arn}}


def test_the_routes_are_those_of_the_contract(resources: Resources) -> None:
    paths = resources["Api"]["Properties"]["Body"]["paths"]
    routes = {(method, path) for path, methods in paths.items() for method in methods}
    every = "x-amazon-apigateway-any-method"
    assert routes == {
        ("post", "/v1/retrieve"),
        ("get", "/health"),
        (every, "/retrieval"),
        (every, "/"),
        (every, "/retrieval/{proxy+}"),
        (every, "/v1/retrieval"),
        (every, "/api/retrieval"),
        (every, "/{proxy+}"),
        (every, "/v1/datasets"),
        (every, "/v1/datasets/{proxy+}"),
        (every, "/v1/documents"),
        (every, "/v1/documents/{proxy+}"),
        (every, "/v1/chunks/{proxy+}"),
    }


def _who_may(action: str, resources: Resources, subject: str = "") -> set[str]:
    allowed = set()
    for name in FUNCTIONS:
        role = resources[f"{logical_id(name)}Role"]["Properties"]
        documents = [each["PolicyDocument"] for each in role.get("Policies", [])]
        documents += [
            resources[each["Ref"]]["Properties"]["PolicyDocument"]
            for each in role["ManagedPolicyArns"]
            if isinstance(each, dict)
        ]
        if any(
            action in _listed(s["Action"]) and subject in str(s["Resource"])
            for s in _statements(documents)
        ):
            allowed.add(name)
    return allowed


def _statements(value: Any) -> Iterator[dict[str, Any]]:
    """Yields every statement of every policy, wherever it is."""
    if isinstance(value, dict):
        if "Effect" in value and "Resource" in value:
            yield value
        for inner in value.values():
            yield from _statements(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _statements(inner)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_what_was_uploaded_goes_by_itself_and_nothing_else_does(
    template: dict[str, Any],
) -> None:
    [rule] = template["Resources"]["Documents"]["Properties"]["LifecycleConfiguration"]["Rules"]
    content = template["Globals"]["Function"]["Environment"]["Variables"]["WINNOW_CONTENT_URL"]
    assert content["Fn::Sub"] == "s3://${Documents}/content"
    assert (rule["Prefix"], rule["ExpirationInDays"]) == (f"content/{UPLOADS}/", 1)
