"""Application Auto Scaling and contributor insights through boto3, on the same port as everything else."""

import json
import urllib.request

import boto3
import pytest

READS = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/Scaled",
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
}
TRACKING = {
    "TargetValue": 70.0,
    "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"},
    "ScaleOutCooldown": 60,
}


@pytest.fixture
def scaling():
    client = boto3.client("application-autoscaling")
    yield client
    for target in client.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]:
        client.deregister_scalable_target(
            ServiceNamespace="dynamodb",
            ResourceId=target["ResourceId"],
            ScalableDimension=target["ScalableDimension"],
        )


@pytest.fixture
def provisioned(client):
    client.create_table(
        TableName="Scaled",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    )


def test_a_target_and_its_policy_are_kept(scaling, provisioned):
    scaling.register_scalable_target(**READS, MinCapacity=5, MaxCapacity=50)
    put = scaling.put_scaling_policy(
        **READS,
        PolicyName="reads",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration=TRACKING,
    )
    assert len(put["Alarms"]) == 4
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (5, 50)
    (policy,) = scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"]
    assert policy["PolicyARN"] == put["PolicyARN"]
    assert policy["TargetTrackingScalingPolicyConfiguration"] == TRACKING
    scaling.delete_scaling_policy(**READS, PolicyName="reads")
    assert scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"] == []


def test_capacity_is_brought_into_its_bounds(scaling, provisioned, client):
    scaling.register_scalable_target(**READS, MinCapacity=20, MaxCapacity=50)
    for _ in range(2000):
        if client.describe_table(TableName="Scaled")["Table"]["ProvisionedThroughput"]["ReadCapacityUnits"] == 20:
            break
    else:
        pytest.fail("capacity stayed below its minimum")
    for _ in range(2000):
        activities = scaling.describe_scaling_activities(ServiceNamespace="dynamodb", ResourceId="table/Scaled")
        if activities["ScalingActivities"]:
            break
    assert activities["ScalingActivities"][0]["Cause"] == "minimum capacity was set to 20"


def test_errors_are_those_of_the_service(scaling, provisioned, refused):
    where = "service namespace: dynamodb, resource ID: table/Scaled, scalable dimension: dynamodb:table:ReadCapacityUnits"
    with pytest.raises(scaling.exceptions.ObjectNotFoundException) as error:
        scaling.deregister_scalable_target(**READS)
    assert error.value.response["Error"]["Message"] == f"No scalable target found for {where}"
    with refused("ValidationException", "DynamoDB table does not exist: table/Missing"):
        scaling.register_scalable_target(**{**READS, "ResourceId": "table/Missing"}, MinCapacity=1, MaxCapacity=2)


def test_insights_show_the_keys_used_most(client, create_table, endpoint):
    table = create_table("Hot", "pk")
    client.update_contributor_insights(TableName="Hot", ContributorInsightsAction="ENABLE")
    assert client.describe_contributor_insights(TableName="Hot")["ContributorInsightsStatus"] == "ENABLED"
    (summary,) = client.list_contributor_insights()["ContributorInsightsSummaries"]
    assert summary["TableName"] == "Hot"
    table.put_item(Item={"pk": "a"})
    for _ in range(4):
        table.get_item(Key={"pk": "a"})
    table.get_item(Key={"pk": "b"})
    with urllib.request.urlopen(f"{endpoint}/_stator/insights") as answer:
        (report,) = json.load(answer)["insights"]
    assert report["accessed"]["partition_keys"] == [
        {"key": {"pk": {"S": "a"}}, "count": 5, "error": 0},
        {"key": {"pk": {"S": "b"}}, "count": 1, "error": 0},
    ]
