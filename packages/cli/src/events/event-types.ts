import type { Catalogue } from "@herald/contracts";
import { eventPayloadSchema, type Schema } from "@herald/contracts/schemas";

/** A module that knows a catalogue's events: names and types. It needs no package. `scripts/docs` makes the receiver's of it. */
export function typescriptTypes(catalogue: Catalogue, madeBy: string): string {
  const names = Object.keys(catalogue)
    .map((name) => `  ${JSON.stringify(name)},`)
    .join("\n");
  const details = detailsOf(catalogue);
  const { properties } = eventPayloadSchema as object as { properties: Record<string, Schema> };
  const data = details === "" ? {} : { beside: "(Type extends keyof DataOf ? DataOf[Type] : unknown)" };
  const event = objectType(
    {
      ...(eventPayloadSchema as object as Schema),
      properties: {
        ...properties,
        type: { ...properties.type, typeScript: "Type" },
        data: { ...properties.data, ...data },
      },
    },
    "",
  );
  return `// ${madeBy}

/** The names of the events (SPEC 6). */
export const EVENT_TYPES = [
${names}
] as const;

export type EventType = (typeof EVENT_TYPES)[number];
${details}
/** The body of an automatic event of one type (SPEC 2.4). Fields may be added to it. */
export interface EventOf<Type extends EventType> ${event}

/** The body of an automatic event; its \`type\` tells the others apart. */
export type HeraldEvent = { [Type in EventType]: EventOf<Type> }[EventType];
`;
}

/** What the catalogue says of the data of some types. */
function detailsOf(catalogue: Catalogue): string {
  const lines = Object.entries(catalogue).flatMap(([name, { dataSchema }]) =>
    dataSchema === undefined
      ? []
      : [`  ${JSON.stringify(name)}: ${typeOf(dataSchema, { root: dataSchema, indent: "  " })};`],
  );
  if (lines.length === 0) return "";
  return `
/** What is known of the data of events, by their types. */
export interface DataOf {
${lines.join("\n")}
}
`;
}

interface Place {
  /** The schema that references begin at. */
  root: Schema;
  indent: string;
  /** The references that lead here. */
  within?: readonly string[];
}

/** The TypeScript type of a JSON Schema; `unknown` for what TypeScript can't say, or only in other words. */
function typeOf(schema: Schema, place: Place): string {
  if (typeof schema.typeScript === "string") return schema.typeScript;
  const target = referenceOf(schema, place);
  if (target) return typeOf(target.schema, target.place);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  if (choices) return choices.map((each) => typeOf(each, place)).join(" | ");
  const types = schema.type === undefined ? ["unknown"] : ([schema.type].flat() as string[]);
  return types.map((type) => ofOneType(type, schema, place)).join(" | ");
}

function ofOneType(type: string, schema: Schema, place: Place): string {
  switch (type) {
    case "object":
      return objectType(schema, place.indent, place);
    case "array":
      return `readonly (${typeof schema.items === "object" ? typeOf(schema.items as Schema, place) : "unknown"})[]`;
    case "integer":
      return "number";
    default:
      return type;
  }
}

/** What a schema refers to in `$defs`; undefined where it does not, or where it is within itself. */
export function referenceOf<At extends Omit<Place, "indent">>(schema: Schema, place: At) {
  const [, name] = /^#\/\$defs\/([^/]+)$/.exec(String(schema.$ref)) ?? [];
  if (name === undefined) return undefined;
  const found = (place.root.$defs as Record<string, Schema> | undefined)?.[name];
  const within = place.within ?? [];
  if (found === undefined || within.includes(name)) return { schema: {}, place };
  return { schema: found, place: { ...place, within: [...within, name] } };
}

function objectType(schema: Schema, indent: string, place: Place = { root: schema, indent }): string {
  const inner = { ...place, indent: `${indent}  ` };
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const required = (schema.required ?? []) as string[];
  const lines = properties.flatMap(([name, property]) => [
    ...(property.description === undefined ? [] : [`${inner.indent}/** ${commentOf(property)} */`]),
    `${inner.indent}${keyOf(name)}${required.includes(name) ? "" : "?"}: ${typeOf(property, inner)};`,
  ]);
  if (typeof schema.additionalProperties === "object") {
    lines.push(`${inner.indent}[name: string]: ${typeOf(schema.additionalProperties as Schema, inner)};`);
  } else if (
    indent !== "" &&
    schema.additionalProperties !== false &&
    properties.every(([name]) => name !== "oldValue")
  ) {
    // Details that an event of one type has, and no schema names.
    lines.push(`${inner.indent}[detail: string]: unknown;`);
  }
  const beside = typeof schema.beside === "string" ? ` & ${schema.beside}` : "";
  return `{\n${lines.join("\n")}\n${indent}}${beside}`;
}

function commentOf({ description }: Schema): string {
  return String(description).replaceAll("*/", "* /").replaceAll(/\s+/g, " ");
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

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
    const type = pythonTypeOf(each, { root: schema });
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
function pythonTypeOf(schema: Schema, place: { root: Schema; within?: readonly string[] }): string {
  const target = referenceOf(schema, place);
  if (target) return pythonTypeOf(target.schema, target.place);
  const values = Array.isArray(schema.enum) ? (schema.enum as unknown[]) : [schema.const];
  if (values.every((value) => typeof value === "string"))
    return `Literal[${values.map((value) => JSON.stringify(value)).join(", ")}]`;
  const types = schema.type === undefined ? [] : ([schema.type].flat() as string[]);
  if (types.length === 0) return "Any";
  return types
    .map((type) => {
      if (type === "array")
        return `list[${typeof schema.items === "object" ? pythonTypeOf(schema.items as Schema, place) : "Any"}]`;
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
