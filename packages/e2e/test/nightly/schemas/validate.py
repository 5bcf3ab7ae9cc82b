"""Says of each sample of the schemas' files, and of what is made of it, whether jsonschema takes it.

Its argument is the folder; the changes to make are a list on the standard input."""

import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator

changes = json.load(sys.stdin)
verdicts = {}
for file in sorted(Path(sys.argv[1]).glob("*/*.json")):
    schema = json.loads(file.read_text())
    Draft202012Validator.check_schema(schema)
    with_formats = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    without = Draft202012Validator(schema)
    [sample] = schema["examples"]
    verdicts[f"{file.parent.name}/{file.name}"] = [
        [each.is_valid({**sample, **change}) for each in (with_formats, without)] for change in changes
    ]
print(json.dumps(verdicts))
