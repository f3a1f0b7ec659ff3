"""The format of the wire cases: what a request is written as, and when an answer is the expected one.

docs of the format: one file is one fresh database; see any file below this directory for an example.

Generators, anywhere in a request:
    {"$repeat": "x", "times": 3}        "xxx"
    {"$nest": 2, "leaf": {"S": "a"}}    {"L": [{"L": [{"S": "a"}]}]}
    {"$list": {"S": "k{i}"}, "times": 2}  [{"S": "k0"}, {"S": "k1"}]

Matchers, anywhere in a response, and as a message:
    {"$any": true}  {"$absent": true}  {"$regex": "…"}  {"$unordered": […]}  {"$partial": {…}}
"""

import re


def expand(value):
    """A request with its generators replaced by what they stand for."""
    if isinstance(value, list):
        return [expand(element) for element in value]
    if not isinstance(value, dict):
        return value
    if "$repeat" in value:
        return value["$repeat"] * value["times"]
    if "$nest" in value:
        result = expand(value["leaf"])
        for _ in range(value["$nest"]):
            result = {"L": [result]}
        return result
    if "$list" in value:
        return [expand(_numbered(value["$list"], i)) for i in range(value["times"])]
    return {name: expand(member) for name, member in value.items()}


def _numbered(value, index):
    if isinstance(value, str):
        return value.replace("{i}", str(index))
    if isinstance(value, list):
        return [_numbered(element, index) for element in value]
    if isinstance(value, dict):
        return {_numbered(name, index): _numbered(member, index) for name, member in value.items()}
    return value


def difference(expected, actual, path="$"):
    """None if `actual` is what was expected, else one sentence that says where it is not."""
    if isinstance(expected, dict):
        matcher = next((name for name in expected if name.startswith("$")), None)
        if matcher:
            return _MATCHERS[matcher](expected[matcher], actual, path)
        return _object_difference(expected, actual, path, exact=True)
    if isinstance(expected, list):
        return _array_difference(expected, actual, path)
    # JSON has one kind of number but true is none of them.
    if isinstance(expected, bool) != isinstance(actual, bool) or expected != actual:
        return f"{path}: expected {expected!r}, got {actual!r}"
    return None


def _object_difference(expected, actual, path, exact):
    if not isinstance(actual, dict):
        return f"{path}: expected an object, got {actual!r}"
    for name, member in expected.items():
        if isinstance(member, dict) and "$absent" in member:
            if name in actual:
                return f"{path}.{name}: expected to be absent, got {actual[name]!r}"
            continue
        if name not in actual:
            return f"{path}.{name}: is missing"
        found = difference(member, actual[name], f"{path}.{name}")
        if found:
            return found
    extra = sorted(set(actual) - set(expected))
    if exact and extra:
        return f"{path}: has {extra[0]!r} that was not expected: {actual[extra[0]]!r}"
    return None


def _array_difference(expected, actual, path):
    if not isinstance(actual, list):
        return f"{path}: expected an array, got {actual!r}"
    if len(expected) != len(actual):
        return f"{path}: expected {len(expected)} elements, got {len(actual)}: {actual!r}"
    for index, (wanted, got) in enumerate(zip(expected, actual)):
        found = difference(wanted, got, f"{path}[{index}]")
        if found:
            return found
    return None


def _unordered_difference(expected, actual, path):
    if not isinstance(actual, list):
        return f"{path}: expected an array, got {actual!r}"
    if len(expected) != len(actual):
        return f"{path}: expected {len(expected)} elements, got {len(actual)}: {actual!r}"
    taken = {}  # index in actual -> index in expected

    def place(wanted, tried):
        for index, got in enumerate(actual):
            if index in tried or difference(expected[wanted], got, path) is not None:
                continue
            tried.add(index)
            # Whoever has this element moves if it can: a loose matcher must not take what only another matches.
            if index not in taken or place(taken[index], tried):
                taken[index] = wanted
                return True
        return False

    for wanted, element in enumerate(expected):
        if not place(wanted, set()):
            return f"{path}: {element!r} is not among {actual!r}"
    return None


def _regex_difference(pattern, actual, path):
    if isinstance(actual, str) and re.fullmatch(pattern, actual, re.DOTALL):
        return None
    return f"{path}: expected to match {pattern!r}, got {actual!r}"


_MATCHERS = {
    "$any": lambda _, actual, path: None,
    "$absent": lambda _, actual, path: f"{path}: expected to be absent, got {actual!r}",
    "$regex": _regex_difference,
    "$unordered": _unordered_difference,
    "$partial": lambda expected, actual, path: _object_difference(expected, actual, path, exact=False),
}
