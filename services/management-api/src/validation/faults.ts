import type { ErrorObject } from "ajv";
import type { Fault, Format } from "./formats.ts";

/** Says in words what one of ajv's errors means. Values are never repeated: a URL may hold a password. */
export function faultOf(error: ErrorObject, formats: Record<string, Format>): Fault {
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
