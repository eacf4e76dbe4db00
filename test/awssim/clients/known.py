"""Hold answers to AWS's own model of them, which botocore carries.

botocore passes over what it does not know. Here that is an error: a name that
is not in the model, at any depth, or a value that is not of its type.
"""

import json
import re
from datetime import datetime
from typing import Any
from xml.etree import ElementTree

from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape

# Where AWS itself uses words that its model lacks: of types that are new, and
# "available" of a gateway that is attached, as its documentation says.
BEYOND_MODEL = re.compile(r"DescribeInstanceTypes\.|DescribeInternetGateways\..*\.state$")


class Known:
    """A handler of botocore's event after-call."""

    def __call__(self, http_response: Any, model: OperationModel, **_: Any) -> None:
        if http_response.status_code >= 300:
            return
        protocol = model.service_model.metadata["protocol"]
        shape = model.output_shape
        if protocol in ("json", "rest-json"):
            if shape is not None:
                check_json(model.name, json.loads(http_response.content), shape)
            return
        root = ElementTree.fromstring(http_response.content)
        assert plain(root.tag) == f"{model.name}Response"
        members = list(root)
        if protocol == "query":
            assert [plain(m.tag) for m in members] == [f"{model.name}Result", "ResponseMetadata"]
            members = list(members[0])
        check_members(model.name, members, shape)


def plain(tag: str) -> str:
    return tag.rpartition("}")[2]


def names(shape: Shape | None) -> dict[str, Shape]:
    if not isinstance(shape, StructureShape):
        return {}
    return {s.serialization.get("name", name): s for name, s in shape.members.items()}


def check_members(path: str, members: list[ElementTree.Element], shape: Shape | None) -> None:
    known = names(shape)
    for member in members:
        name = plain(member.tag)
        # Some actions of EC2 have no answer in the model, and answer "return".
        if name == "requestId" or (name == "return" and name not in known):
            continue
        assert name in known, f"{path} has no {name}, only {sorted(known)}"
        check_xml(f"{path}.{name}", member, known[name])


def check_xml(path: str, element: ElementTree.Element, shape: Shape) -> None:
    if isinstance(shape, StructureShape):
        check_members(path, list(element), shape)
    elif isinstance(shape, ListShape):
        want = shape.member.serialization.get("name", "member")
        for item in element:
            assert plain(item.tag) == want, f"{path} lists {want}, not {plain(item.tag)}"
            check_xml(path, item, shape.member)
    else:
        check_scalar(path, element.text or "", shape)


def check_scalar(path: str, text: str, shape: Shape) -> None:
    match shape.type_name:
        case "boolean":
            assert text in ("true", "false"), f"{path} is {text!r}"
        case "integer" | "long":
            int(text)
        case "double" | "float":
            float(text)
        case "timestamp":
            datetime.fromisoformat(text.replace("Z", "+00:00"))
        case "string":
            values = [] if BEYOND_MODEL.match(path) else getattr(shape, "enum", [])
            assert not values or text in values, f"{path} is {text!r}, none of {values}"
        case other:
            raise AssertionError(f"{path} is of the type {other}")


def check_json(path: str, value: Any, shape: Shape) -> None:
    if isinstance(shape, StructureShape):
        known = names(shape)
        for name, member in value.items():
            assert name in known, f"{path} has no {name}, only {sorted(known)}"
            check_json(f"{path}.{name}", member, known[name])
    elif isinstance(shape, ListShape):
        for item in value:
            check_json(path, item, shape.member)
    elif isinstance(shape, MapShape):
        for item in value.values():
            check_json(path, item, shape.value)
    elif shape.type_name == "timestamp":
        assert isinstance(value, int | float), f"{path} is {value!r}"
    elif shape.type_name == "string":
        values = getattr(shape, "enum", [])
        assert isinstance(value, str), f"{path} is {value!r}"
        assert not values or value in values, f"{path} is {value!r}, none of {values}"
    elif shape.type_name == "boolean":
        assert isinstance(value, bool), f"{path} is {value!r}"
    elif shape.type_name in ("integer", "long"):
        assert isinstance(value, int), f"{path} is {value!r}"
    else:
        assert isinstance(value, int | float), f"{path} is {value!r}"
