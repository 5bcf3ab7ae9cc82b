import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Catalogue, DEFAULT_CATALOGUE, type EventTypeRules, eventFaults, samplePayload } from "@herald/contracts";
import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { readSetting } from "./read-config.ts";
import type { Settings } from "./settings.ts";

export const eventTypeSettings = {
  EVENT_TYPES_FILE: {
    type: "string",
    shared: true,
    description: "JSON file with the types of events that Herald delivers, in place of the default seven.",
  },
} as const satisfies Settings;

/** No more than a person can choose from; documents and schemas are made of all of them. */
const MAX_TYPES = 500;

const words = { type: "string", minLength: 1, maxLength: 500, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" };

/** The schema of a file of types. A name is a part of addresses, headers and routing keys. */
const FILE_SCHEMA = {
  type: "object",
  minProperties: 1,
  maxProperties: MAX_TYPES,
  propertyNames: { pattern: "^[A-Za-z][A-Za-z0-9._-]{0,99}$" },
  additionalProperties: {
    type: "object",
    required: ["entityType", "emittedWhen", "sample"],
    additionalProperties: false,
    properties: {
      entityType: { ...words, maxLength: 128 },
      emittedWhen: words,
      remark: words,
      sample: { type: "object" },
      dataSchema: { type: "object", not: { required: ["$id"] } },
    },
  },
};

/** The types of events that this Herald delivers. @throws ConfigError that names the file, the place in it and what has to be there */
export function readCatalogue({ EVENT_TYPES_FILE: file }: { EVENT_TYPES_FILE?: string | undefined }): Catalogue {
  if (file === undefined) return DEFAULT_CATALOGUE;
  return readSetting("EVENT_TYPES_FILE", () => {
    const catalogue = parse(file);
    const problems = problemsOf(catalogue);
    if (problems.length > 0) throw new Error(`${file}: ${problems.join("; ")}.`);
    return catalogue as Catalogue;
  });
}

function parse(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`the file can't be read: ${(error as Error).message}`);
  }
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw new Error(`${file} is not valid JSON: ${(error as Error).message}`);
  }
}

/** The faults of a file's content, each with its JSON pointer. */
function problemsOf(value: unknown): string[] {
  const validate = new Ajv2020({ allErrors: true, strict: false }).compile(FILE_SCHEMA);
  // Ajv reports a refused name twice: by itself, and as one of the names.
  if (!validate(value)) {
    const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== "propertyNames");
    return errors.map((error) => `${pointerOf(error)} ${inWords(error)}`);
  }
  const catalogue = value as Catalogue;
  return Object.keys(catalogue).flatMap((type) => {
    try {
      const faults = eventFaults({ organizationId: "org-1", ...samplePayload(type, catalogue) });
      const rules = catalogue[type] as Catalogue[string];
      const fault = faults[0] ?? catalogueRules({ [type]: rules }).dataFault(type, rules.sample);
      const place = fault?.path.slice(1).map((name) => `/${name}`);
      return fault ? [`/${type}/sample${place?.join("")} ${fault.message}`] : [];
    } catch (error) {
      return [`/${type}/dataSchema is no JSON Schema: ${(error as Error).message}`];
    }
  });
}

/** The demands of this catalogue on events, for publishers. Schemas of data are compiled here, once. @throws Error where one can't be compiled */
export function catalogueRules(catalogue: Catalogue): EventTypeRules {
  // Formats are annotations, as the standard has it: validators read them differently.
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false, validateFormats: false });
  const names = new Set(Object.keys(catalogue));
  const validators = new Map<string, ValidateFunction>();
  for (const [type, { dataSchema }] of Object.entries(catalogue)) {
    if (dataSchema !== undefined) validators.set(type, ajv.compile(dataSchema));
  }
  return {
    knows: (type) => names.has(type),
    dataFault(type, data) {
      const validate = validators.get(type);
      const error = validate === undefined || validate(data) ? undefined : validate.errors?.[0];
      return (
        error && { path: ["data", ...error.instancePath.split("/").slice(1)], message: error.message ?? "is not valid" }
      );
    },
  };
}

/** A catalogue's mark, by which processes compare theirs: how many types it has, and a hash of all that it says. */
export function catalogueMark(catalogue: Catalogue): string {
  const hash = createHash("sha256").update(JSON.stringify(catalogue)).digest("hex");
  return `${Object.keys(catalogue).length} types (${hash.slice(0, 12)})`;
}

/** The pointer of what is missing or too much is the one that it would have, or has. */
function pointerOf({ instancePath, params, propertyName }: ErrorObject): string {
  const name = params.missingProperty ?? params.additionalProperty ?? propertyName;
  return name === undefined ? instancePath || "the file" : `${instancePath}/${String(name)}`;
}

function inWords({ keyword, params, message = "is not valid", propertyName }: ErrorObject): string {
  if (propertyName !== undefined)
    return "is no name: a letter, then letters, digits, dots, hyphens and underscores, 100 in all";
  if (keyword === "required") return "is missing";
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") return "is not known";
  if (keyword === "enum") return `must be one of ${(params.allowedValues as unknown[]).join(", ")}`;
  if (keyword === "const") return `must be ${JSON.stringify(params.allowedValue)}`;
  return message;
}
