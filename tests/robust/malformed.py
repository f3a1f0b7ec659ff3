"""Every way to spoil one member of a request, as JSON text."""

import copy
import json

HOLE = "\x01hole\x01"
HOLE_TEXT = json.dumps(HOLE)
MAX_DEPTH = 6


def nested(opening, closing, depth):
    return opening * depth + closing * depth


# Values of every JSON type, small and large; each member meets all of them.
WRONG_VALUES = {
    "null": "null", "true": "true", "zero": "0", "minus one": "-1", "fraction": "1.5", "long": "1" * 30,
    "exponent": "1e400", "largest": "9223372036854775808", "empty text": '""', "text": '"x"',
    "huge text": '"' + "x" * 70_000 + '"', "zero byte": '"\\u0000"', "half a surrogate": '"\\ud800"',
    "no ASCII": '"\\u00e9\U0001F600"', "number as text": '"1"', "empty list": "[]", "list of null": "[null]",
    "list of lists": "[[]]", "empty object": "{}", "object of null": '{"x":null}', "empty name": '{"":{"S":"x"}}',
    "huge name": '{"' + "x" * 70_000 + '":{"S":"x"}}', "attribute value": '{"S":"x"}', "two types": '{"S":"x","N":"1"}',
    "no type": '{"Q":"x"}', "deep lists": nested("[", "]", 900), "deep objects": nested('{"M":', "}", 900).replace(
        ":}", ":{}}", 1), "deep values": nested('{"L":[', "]}", 40),
    "not base64": '{"B":"*"}', "not a number": '{"N":"x"}', "a number too large": '{"N":"1e999"}',
    "an empty set": '{"SS":[]}', "a set with doubles": '{"SS":["a","a"]}', "many values": "[" + ",".join(["1"] * 2000) + "]",
    "many members": "{" + ",".join(f'"m{i}":{{"S":"x"}}' for i in range(2000)) + "}",
}


def paths(shape, value, depth=0):
    """Where something can be spoilt: (path, shape, the value there or None), members that are absent too."""
    if depth == MAX_DEPTH:
        return
    if shape.kind == "Structure" and isinstance(value, dict):
        for name, (inner, _) in shape.members.items():
            yield (name,), inner, value.get(name)
            if name in value:
                for path, *rest in paths(inner, value[name], depth + 1):
                    yield (name, *path), *rest
    elif (shape.kind, type(value)) in (("List", list), ("Map", dict)):
        for name in (range(len(value)) if shape.kind == "List" else list(value))[:2]:
            yield (name,), shape.element, value[name]
            for path, *rest in paths(shape.element, value[name], depth + 1):
                yield (name, *path), *rest


def _at(request, path):
    for step in path[:-1]:
        request = request[step]
    return request


def _with_hole(request, path):
    spoilt = copy.deepcopy(request)
    _at(spoilt, path)[path[-1]] = HOLE
    return json.dumps(spoilt)


def spoilt(request, shape):
    """(what was done, body) for every member of the request and every way to spoil it."""
    for name, text in WRONG_VALUES.items():
        yield f"all: {name}", text
    whole = json.dumps(request)
    yield "cut off", whole[:-1]
    yield "doubled", whole + whole
    yield "unknown member", json.dumps({**request, "Nobody": {"knows": ["this"]}})
    for path, inner, value in paths(shape, request):
        where = ".".join(map(str, path))
        if value is not None:
            without = copy.deepcopy(request)
            _at(without, path).pop(path[-1])
            yield f"{where}: missing", json.dumps(without)
        text = _with_hole(request, path)
        for name, wrong in WRONG_VALUES.items():
            yield f"{where}: {name}", text.replace(HOLE_TEXT, wrong, 1)
        right = json.dumps(value)
        if isinstance(path[-1], str):
            key = json.dumps(path[-1])
            for name, second in (("twice", right), ("twice, then null", "null"), ("twice, then a list", "[]")):
                yield f"{where}: {name}", text.replace(HOLE_TEXT, f"{right},{key}:{second}", 1)
            for name, other in (("empty name", ""), ("huge name", "n" * 70_000), ("other case", path[-1].swapcase())):
                renamed = text.replace(f"{key}: {HOLE_TEXT}", f"{json.dumps(other)}: {right}", 1)
                yield f"{where}: {name}", renamed
        if inner.kind == "List" and value:
            yield f"{where}: many", text.replace(HOLE_TEXT, json.dumps(value * 1100), 1)
        for enumerated in inner.values:
            yield f"{where}: {enumerated}", text.replace(HOLE_TEXT, json.dumps(enumerated), 1)


def spoilt_at_random(request, shape, chance):
    """The body of a request of which two to four members are wrong."""
    body = json.dumps(request)
    for _ in range(chance.randint(2, 4)):
        try:
            request = json.loads(body)
        except RecursionError:  # Python's, not the server's
            break
        places = [path for path, *_ in paths(shape, request)] if isinstance(request, dict) else []
        if not places:
            break
        path = chance.choice(places)
        _at(request, path)[path[-1]] = HOLE
        body = json.dumps(request).replace(HOLE_TEXT, chance.choice(list(WRONG_VALUES.values())), 1)
    return body
