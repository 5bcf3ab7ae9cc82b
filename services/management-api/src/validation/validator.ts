import { type ApiLimits, type FieldProblem, isUuid } from "@herald/contracts";
import { apiSchemas, type SchemaName } from "@herald/contracts/schemas";
import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { faultOf } from "./faults.ts";
import type { Format } from "./formats.ts";

/** Finds every bad field of a value, by the schema of that name. Fills in defaults. */
export type Validate = (name: SchemaName, value: unknown) => FieldProblem[];

/** Compiles the API's schemas for what comes in: bodies as they are, query parameters from text. */
export function apiValidator(limits: ApiLimits, formats: Record<string, Format>): { body: Validate; query: Validate } {
  const common = { allErrors: true, useDefaults: true, verbose: true, strict: false } as const;
  const schemas = { $id: "herald", components: { schemas: apiSchemas(limits) } };
  const compilers = {
    body: new Ajv2020({ ...common }),
    query: new Ajv2020({ ...common, coerceTypes: "array" }),
  };
  for (const ajv of Object.values(compilers)) {
    ajv.addFormat("uuid", isUuid);
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

/** One problem a field: the first that ajv finds is the most basic one. More than these would help nobody. */
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

/** A missing field is named as if it were there. */
function pointerOf(error: ErrorObject): string {
  if (error.keyword !== "required") return error.instancePath;
  return `${error.instancePath}/${String(error.params.missingProperty)}`;
}
