"""Texts of Herald's own formats, for what a regular expression can't say of them: a public host, JSON, a name that can be seen."""

import base64
import json
import string

import schemathesis
from hypothesis import strategies as st

label = st.text(alphabet=string.ascii_lowercase + string.digits, min_size=1, max_size=20)
# Letters and marks that show as nothing.
selectors = "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
fillers = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0" + selectors
seen = st.characters(exclude_categories=("C", "Zl", "Zp"), exclude_characters=fillers)
json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=10,
)


def base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


FORMATS = {
    "webhook-name": st.builds(str.__add__, st.sampled_from(string.ascii_letters), st.text(seen, max_size=199)),
    "webhook-url": st.builds("https://{}.example.com/{}".format, label, label),
    "header-name": st.builds("X-Own-{}".format, label),
    "header-value": label,
    "json-text": json_value.map(json.dumps),
    "endpoint-version": st.integers(0, 2**63 - 1).map(lambda n: base64.b64encode(n.to_bytes(8, "big")).decode()),
    "cursor": st.uuids().map(lambda id: base64url(id.bytes)),
    "change-cursor": st.binary(min_size=23, max_size=23).map(lambda rest: base64url(b"\0" + rest)),
}
for name, strategy in FORMATS.items():
    schemathesis.openapi.format(name, strategy)
