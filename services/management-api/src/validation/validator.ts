import { type ApiLimits, apiSchemas, type FieldProblem, type SchemaName } from "@herald/contracts";
import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import type { Fault, Format } from "./formats.ts";

/** Finds every bad field of a value, by the schema of that name. Fills in defaults. */
export type Validate = (name: SchemaName, value: unknown) => FieldProblem[];

/** Compiles the API's schemas for requests: bodies are taken as they are, query parameters are converted from text. */
export function apiValidator(limits: ApiLimits, formats: Record<string, Format>): { body: Validate; query: Validate } {
  const common = { allErrors: true, useDefaults: true, verbose: true, strict: false } as const;
  const schemas = { $id: "herald", components: { schemas: apiSchemas(limits) } };
  const compilers = {
    body: new Ajv2020({ ...common }),
    query: new Ajv2020({ ...common, coerceTypes: "array" }),
  };
  for (const ajv of Object.values(compilers)) {
    ajvFormats.default(ajv, ["uuid"]);
    for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, (text) => format(text) === null);
    ajv.addSchema(schemas);
  }

  function validate(ajv: Ajv2020, name: SchemaName, value: unknown): FieldProblem[] {
    const check = ajv.getSchema(`herald#/components/schemas/${name}`) as ValidateFunction;
    return check(value) ? [] : problemsOf(check.errors ?? [], formats);
  }
  return {
    body: (name, value) => validate(compilers.body, name, value),
    query: (name, value) =>
      validate(compilers.query, name, value).map((problem) => ({
        ...problem,
        pointer: problem.pointer.replace("/", "?"),
      })),
  };
}

/** One problem a field is reported: the first that ajv finds is the most basic one. A list longer than this helps no reader. */
const MAX_PROBLEMS = 50;

function problemsOf(errors: ErrorObject[], formats: Record<string, Format>): FieldProblem[] {
  const byPointer = new Map<string, FieldProblem>();
  for (const error of errors) {
    const pointer = pointerOf(error);
    if (byPointer.has(pointer) || byPointer.size >= MAX_PROBLEMS) continue;
    byPointer.set(pointer, { pointer, ...faultOf(error, formats) });
  }
  return [...byPointer.values()];
}

/** The pointer of a missing field is the one that the field would have. */
function pointerOf(error: ErrorObject): string {
  if (error.keyword !== "required") return error.instancePath;
  return `${error.instancePath}/${String(error.params.missingProperty)}`;
}

/** Says in words what one of ajv's errors means. The words never repeat a value: a URL may hold a password. */
function faultOf(error: ErrorObject, formats: Record<string, Format>): Fault {
  const { keyword, params, data } = error;
  switch (keyword) {
    case "required":
      return { code: "missing", detail: "This field is missing." };
    case "type":
      return { code: "wrong_type", detail: `This must be ${typeName(params.type)}, but is ${typeOf(data)}.` };
    case "enum":
      return { code: "unknown_value", detail: `This must be one of ${params.allowedValues.join(", ")}.` };
    case "minItems":
      return {
        code: "too_few",
        detail: `At least ${params.limit === 1 ? "one is" : `${params.limit} are`} needed.`,
      };
    case "minLength":
      return { code: "blank", detail: "This must not be empty." };
    case "maxLength":
      return {
        code: "too_long",
        detail: `This has ${[...(data as string)].length} characters; ${params.limit} is the most.`,
      };
    case "minimum":
    case "maximum":
      return { code: "out_of_range", detail: `This must be ${params.comparison} ${params.limit}.` };
    case "format":
      return (
        formats[params.format]?.(data as string) ?? { code: "malformed", detail: `This must be a ${params.format}.` }
      );
    default:
      return { code: "malformed", detail: `This ${error.message ?? "is not valid"}.` };
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
