"""The API's request shapes for tests, read from the C++ that tools/shapes.py wrote from the public model: what the
server checks requests against is also what malformed ones are made from."""

import json
import pathlib
import re

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src" / "ops"
SERVICES = {"kData": "DynamoDB_20120810", "kStreams": "DynamoDBStreams_20120810",
            "kScaling": "AnyScaleFrontendService"}

_MEMBER = re.compile(r'\{"(\w+)", &(\w+), (true|false)\}')
_OPERATION = re.compile(r'\{"(\w+)", &(\w+)\}')
_SHAPE = re.compile(r"const Shape (\w+)\{\.kind = ShapeKind::k(\w+), (.*)\};$")


class Shape:
    def __init__(self, kind, text):
        self.kind = kind  # String, Blob, Boolean, Integer, Long, Double, Timestamp, List, Map, Structure
        self.name = re.search(r'\.name = "(\w+)"', text).group(1)
        self.element_name = self._reference(text, "element")
        self.min = self._number(text, "min")
        self.max = self._number(text, "max")
        self.members = {}  # name -> (Shape, required)
        self.element = None
        self.values = []

    @staticmethod
    def _reference(text, field):
        found = re.search(rf"\.{field} = &(\w+)", text)
        return found and found.group(1)

    @staticmethod
    def _number(text, field):
        found = re.search(rf"\.{field} = (-?\d+)", text)
        return int(found.group(1)) if found else None


def operations():
    """[(service, operation, input shape)] of everything the server knows."""
    shapes, members, values, found = {}, {}, {}, []
    lines = [line for path in sorted(SOURCES.glob("shapes_*.cc")) for line in path.read_text().splitlines()]
    for line in lines:
        if line.startswith("const Member "):
            name = line.split()[2].removesuffix("Members[]")
            members[name] = [(member, shape, required == "true") for member, shape, required in _MEMBER.findall(line)]
        elif line.startswith("constexpr std::string_view "):
            name = line.split()[2].removesuffix("Values[]")
            values[name] = json.loads("[" + line[line.index("{") + 1:line.rindex("}")] + "]")
        elif line.startswith("const OperationShape "):
            service = SERVICES[line.split()[2].removesuffix("Operations[]")]
            found += [(service, operation, shape) for operation, shape in _OPERATION.findall(line)]
        elif match := _SHAPE.match(line):
            shapes[match.group(1)] = Shape(match.group(2), match.group(3))
    for name, shape in shapes.items():
        shape.values = values.get(name, [])
        shape.element = shapes.get(shape.element_name)
        shape.members = {member: (shapes[inner], required) for member, inner, required in members.get(name, ())}
    return [(service, operation, shapes[shape]) for service, operation, shape in found]
