"""The runner must not pass what it should fail: its matchers, and the spelling of the cases."""

import json
import pathlib

import pytest
from wire_format import difference, expand

HERE = pathlib.Path(__file__).resolve().parent
FILE_MEMBERS = {"about", "tables", "cases"}
CASE_MEMBERS = {"name", "source", "steps"}
STEP_MEMBERS = {"op", "request", "raw", "response", "error", "message", "status", "comment"}


@pytest.mark.parametrize("request_, expanded", [
    ({"$repeat": "ab", "times": 2}, "abab"),
    ({"$nest": 2, "leaf": {"S": "a"}}, {"L": [{"L": [{"S": "a"}]}]}),
    ({"$nest": 0, "leaf": {"S": "a"}}, {"S": "a"}),
    ({"$list": {"S": "k{i}"}, "times": 2}, [{"S": "k0"}, {"S": "k1"}]),
    ([{"a": {"$list": {"$repeat": "{i}", "times": 3}, "times": 2}}], [{"a": ["000", "111"]}]),
])
def test_generators(request_, expanded):
    assert expand(request_) == expanded


@pytest.mark.parametrize("expected, actual", [
    ({"a": [1, "x", None, True]}, {"a": [1.0, "x", None, True]}),
    ({"a": {"$any": True}}, {"a": None}),
    ({"a": {"$absent": True}}, {}),
    ({"a": {"$regex": "[0-9]+"}}, {"a": "123"}),
    ({"$unordered": [1, {"$any": True}, 3]}, [3, 1, 2]),
    ({"$partial": {"a": 1, "b": {"$absent": True}}}, {"a": 1, "c": 2}),
])
def test_what_matches(expected, actual):
    assert difference(expected, actual) is None


@pytest.mark.parametrize("expected, actual", [
    ({"a": 1}, {"a": 2}), ({"a": 1}, {}), ({}, {"a": 1}), ({"a": 1}, {"a": True}), ({"a": "1"}, {"a": 1}),
    ([1, 2], [2, 1]), ([1], [1, 1]), ({"a": 1}, [1]), ([], {}), ({"a": None}, {}),
    ({"a": {"$any": True}}, {}), ({"a": {"$absent": True}}, {"a": None}),
    ({"a": {"$regex": "[0-9]+"}}, {"a": "123x"}), ({"a": {"$regex": "1"}}, {"a": 1}),
    ({"$unordered": [1, 1]}, [1, 2]), ({"$unordered": [1]}, [1, 1]), ({"$partial": {"a": 1}}, {"b": 1}),
])
def test_what_does_not(expected, actual):
    assert difference(expected, actual) is not None


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.json")), ids=lambda path: str(path.relative_to(HERE)))
def test_cases_are_spelled_right(path):
    content = json.loads(path.read_text())
    assert set(content) <= FILE_MEMBERS
    names = [case["name"] for case in content["cases"]]
    assert len(names) == len(set(names)), "two cases have the same name"
    for case in content["cases"]:
        assert set(case) <= CASE_MEMBERS and case["steps"], case["name"]
        for step in case["steps"]:
            assert set(step) <= STEP_MEMBERS, case["name"]
            assert ("request" in step) != ("raw" in step), f"{case['name']}: one of request and raw"
            assert "error" in step or "message" not in step, f"{case['name']}: a message without an error"
