from boto3_fixtures import *  # noqa: F403
