from cli_fixtures import *  # noqa: F403
