import { type FieldProblem, isUuid, storedName } from "@herald/contracts";
import type { Schema, SchemaName } from "@herald/contracts/schemas";
import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type Fault, type Format, fault } from "./formats.ts";

export type ApiValidator = ReturnType<typeof apiValidator>;

export function apiValidator(schemas: Record<SchemaName, Schema>, formats: Record<string, Format>) {
  const ajv = new Ajv2020({ allErrors: true, useDefaults: true, verbose: true, strict: false });
  ajv.addFormat("uuid", isUuid);
  for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, (text) => format(text) === null);
  ajv.addSchema({ $id: "herald", components: { schemas } });

  /** Finds every bad field of a body, by the schema of that name. Fills in defaults, and writes a name as it is stored. */
  function validate(name: SchemaName, value: unknown): FoundProblem[] {
    const fields = value as { name?: unknown } | null;
    if (typeof fields?.name === "string") fields.name = storedName(fields.name);
    const check = ajv.getSchema(`herald#/components/schemas/${name}`) as ValidateFunction;
    return check(value) ? [] : problemsOf(check.errors ?? [], formats);
  }

  /** Reads query parameters by the schema of that name; without one, there are none. Returns their values, with defaults, and every bad one. */
  function query(name: SchemaName | undefined, raw: RawQuery) {
    const parameters = name === undefined ? {} : (schemas[name].properties as Record<string, Schema>);
    const values = readQuery(raw, parameters);
    const found = name === undefined ? [] : validate(name, values);
    const problems: FieldProblem[] = [
      ...unknownParameters(raw, Object.keys(parameters)),
      // A parameter that is repeated is a list, and has one name all the same.
      ...found.map(({ pointer, ...problem }) => ({ ...problem, parameter: pointer.split("/")[1] ?? "" })),
    ];
    return { values, problems: problems.length === 0 ? periodFault(values) : problems.slice(0, MAX_PROBLEMS) };
  }

  return { body: validate, query };
}

type FoundProblem = FieldProblem & { pointer: string };

/** One problem a field is reported: the first that ajv finds is the most basic one. A list longer than this helps no reader. */
const MAX_PROBLEMS = 50;

function problemsOf(errors: ErrorObject[], formats: Record<string, Format>): FoundProblem[] {
  const byPointer = new Map<string, FoundProblem>();
  for (const error of errors) {
    // It only repeats that a name is bad.
    if (error.keyword === "propertyNames") continue;
    const pointer = pointerOf(error);
    if (byPointer.has(pointer) || byPointer.size >= MAX_PROBLEMS) continue;
    byPointer.set(pointer, { pointer, ...faultOf(error, formats) });
  }
  return [...byPointer.values()];
}

/** The pointer of a missing field is the one that the field would have; of an unknown one and of a bad name, its own. */
function pointerOf({ keyword, instancePath, params, propertyName }: ErrorObject): string {
  const name = keyword === "required" ? params.missingProperty : (propertyName ?? params.additionalProperty);
  return name === undefined ? instancePath : `${instancePath}/${escapePointer(String(name))}`;
}

/** A name as a JSON Pointer writes it (RFC 6901). */
function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Says in words what one of ajv's errors means. The words never repeat a value: a URL may hold a password. */
function faultOf(error: ErrorObject, formats: Record<string, Format>): Fault {
  const { keyword, params, data } = error;
  switch (keyword) {
    case "additionalProperties":
      return fault(
        "unknown_field",
        whatIsTaken(params.additionalProperty, Object.keys(error.parentSchema?.properties ?? {}), "fields"),
      );
    case "required":
      return fault("missing", "This field is missing.");
    case "type":
      return fault("wrong_type", `This must be ${typeName(params.type)}, but is ${typeOf(data)}.`);
    case "enum":
      return fault("unknown_value", `This must be one of ${params.allowedValues.join(", ")}.`);
    case "minItems":
      return fault("too_few", `At least ${params.limit === 1 ? "one is" : `${params.limit} are`} needed.`);
    case "maxProperties":
      return fault("too_many", `At most ${params.limit} are possible.`);
    case "minLength":
      return fault("blank", "This must not be empty.");
    case "maxLength":
      return fault("too_long", `This has ${[...(data as string)].length} characters; ${params.limit} is the most.`);
    case "minimum":
    case "maximum":
      return fault("out_of_range", `This must be ${params.comparison} ${params.limit}.`);
    case "format":
      return formats[params.format]?.(data as string) ?? fault("malformed", `This must be a ${params.format}.`);
    default:
      return fault("malformed", `This ${error.message ?? "is not valid"}.`);
  }
}

function typeName(type: string | string[]): string {
  return [type]
    .flat()
    .map((name) => (name === "null" ? "null" : `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`))
    .join(" or ");
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return typeName(Array.isArray(value) ? "array" : typeof value);
}

/** Query parameters as they come: text, or a list if one is repeated. */
export type RawQuery = Readonly<Record<string, unknown>>;

const INTEGER = /^-?(?:0|[1-9]\d*)$/;

/** Reads parameters as their schemas' types. A text that says no such value, as `0x10` for an integer, stays text: then the schema refuses it. */
export function readQuery(query: RawQuery, parameters: Readonly<Record<string, Schema>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, readAs(parameters[name], value)]));
}

function readAs(schema: Schema | undefined, value: unknown): unknown {
  if (schema?.type === "array") return [value].flat().map((item) => readAs(schema.items as Schema, item));
  if (typeof value !== "string") return value;
  if (schema?.type === "integer" && INTEGER.test(value)) return Number(value);
  if (schema?.format === "uuid") return value.toLowerCase();
  if (schema?.type === "boolean" && /^(?:true|false)$/.test(value)) return value === "true";
  return value;
}

/** A parameter that isn't known is refused: a filter with a misspelt name would silently filter nothing. */
export function unknownParameters(query: RawQuery, known: readonly string[]): FieldProblem[] {
  return Object.keys(query)
    .filter((name) => !known.includes(name))
    .map((parameter) => ({
      parameter,
      code: "unknown_parameter",
      detail: whatIsTaken(parameter, known, "query parameters"),
    }));
}

/** The message about an unknown name: it has the name that it resembles, and all known names. */
export function whatIsTaken(name: string, known: readonly string[], what: string): string {
  if (known.length === 0) return `This takes no ${what}.`;
  const meant = known.find((each) => bare(each) === bare(name));
  return `${meant === undefined ? "" : `Did you mean ${meant}? `}This takes ${known.join(", ")}.`;
}

/** A name as a slip leaves it: without capitals, separators and the s of a plural. */
function bare(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .replace(/s$/, "");
}

/** A time span that ends before it begins is a mistake, and would be an empty answer. Both times have been checked. */
export function periodFault({ from, to }: Readonly<Record<string, unknown>>): FieldProblem[] {
  if (typeof from !== "string" || typeof to !== "string" || Date.parse(from) <= Date.parse(to)) return [];
  return [{ parameter: "from", code: "out_of_range", detail: "This is later than `to`: exchange the two." }];
}
