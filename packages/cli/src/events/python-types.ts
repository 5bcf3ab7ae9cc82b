import type { Catalogue } from "@herald/contracts";
import type { Schema } from "@herald/contracts/schemas";
import { referenceOf } from "./typescript-types.ts";

/** A module for Python 3.11 or later that knows a catalogue's events: names and types. It needs no package. */
export function pythonTypes(catalogue: Catalogue, madeBy: string): string {
  const names = Object.keys(catalogue);
  const text = (value: string) => JSON.stringify(value);
  const classes = names.map((name) => {
    const { dataSchema, emittedWhen } = catalogue[name] as Catalogue[string];
    const className = classOf(name);
    const data = dataSchema && dataClass(`${className}Data`, dataSchema);
    return `${data ?? ""}${className} = TypedDict(
    ${text(className)},
    {
        # Emitted when: ${emittedWhen}
        "id": str,
        "type": Literal[${text(name)}],
        "occurredAtUtc": str,
        "entityType": str,
        "entityId": str,
        "data": ${data ? `${className}Data` : "EventData"},
    },
)
`;
  });
  return `# ${madeBy}
from typing import Any, Literal, NotRequired, TypedDict, Union

EventType = Literal[
${names.map((name) => `    ${text(name)},`).join("\n")}
]

EVENT_TYPES: tuple[EventType, ...] = (
${names.map((name) => `    ${text(name)},`).join("\n")}
)


class FieldChange(TypedDict):
    oldValue: str | None
    newValue: str | None


class EventData(TypedDict):
    changes: NotRequired[dict[str, FieldChange]]


${classes.join("\n")}
HeraldEvent = Union[${names.map(classOf).join(", ")}]
`;
}

function dataClass(name: string, schema: Schema): string {
  const required = (schema.required ?? []) as string[];
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const lines = properties.map(([field, each]) => {
    const type = typeOf(each, { root: schema });
    return `        ${JSON.stringify(field)}: ${required.includes(field) ? type : `NotRequired[${type}]`},`;
  });
  if (!properties.some(([field]) => field === "changes")) {
    lines.unshift(`        "changes": NotRequired[dict[str, FieldChange]],`);
  }
  return `${name} = TypedDict(\n    ${JSON.stringify(name)},\n    {\n${lines.join("\n")}\n    },\n)\n`;
}

const TYPES: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
};

/** The Python type of a JSON Schema; `Any` for what has no simple one. */
function typeOf(schema: Schema, place: { root: Schema; within?: readonly string[] }): string {
  const target = referenceOf(schema, place);
  if (target) return typeOf(target.schema, target.place);
  const values = Array.isArray(schema.enum) ? (schema.enum as unknown[]) : [schema.const];
  if (values.every((value) => typeof value === "string"))
    return `Literal[${values.map((value) => JSON.stringify(value)).join(", ")}]`;
  const types = schema.type === undefined ? [] : ([schema.type].flat() as string[]);
  if (types.length === 0) return "Any";
  return types
    .map((type) => {
      if (type === "array")
        return `list[${typeof schema.items === "object" ? typeOf(schema.items as Schema, place) : "Any"}]`;
      if (type === "object") return "dict[str, Any]";
      return TYPES[type] ?? "Any";
    })
    .join(" | ");
}

/** A name as Python's classes have them: `invoice.paid` is `InvoicePaid`. */
function classOf(name: string): string {
  return name
    .split(/[._-]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}
