import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import { parseAllDocuments } from "yaml";
import type { ChartTools } from "./tools.ts";

type Schema = Record<string, unknown>;
interface Definition {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

/** Finds the schema of an object by its apiVersion and kind, and what is wrong with the object. */
export interface Schemas {
  /** Empty where nothing is. @throws where no schema is known */
  problemsOf(object: { apiVersion: string; kind: string }): string[];
}

/** Kubernetes' own schemas and those of the operators, made strict: a field that they don't know is a mistake. */
export function loadSchemas({ kubernetes, ...operators }: ChartTools["folders"]): Schemas {
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, unicodeRegExp: false });
  const validators = new Map<string, () => ValidateFunction>();

  const swagger = JSON.parse(readFileSync(kubernetes, "utf8")) as {
    definitions: Record<string, Schema>;
  };
  // Written as text there, though both are taken.
  const numbersToo = { type: ["string", "integer", "number"] };
  swagger.definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] = numbersToo;
  swagger.definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = numbersToo;
  for (const definition of Object.values(swagger.definitions)) makeStrict(definition);
  ajv.addSchema({ $id: "kubernetes", ...swagger } as Schema);
  for (const [name, definition] of Object.entries(swagger.definitions)) {
    const kinds = definition["x-kubernetes-group-version-kind"] as { group: string; version: string; kind: string }[];
    if (kinds?.length !== 1) continue;
    for (const { group, version, kind } of kinds) {
      const apiVersion = group === "" ? version : `${group}/${version}`;
      const ref = { $ref: `kubernetes#/definitions/${name}` };
      validators.set(`${apiVersion} ${kind}`, () => ajv.compile(ref));
    }
  }

  for (const folder of Object.values(operators)) {
    for (const file of readdirSync(folder).filter((each) => each.endsWith(".yaml"))) {
      for (const document of parseAllDocuments(readFileSync(join(folder, file), "utf8"))) {
        const { spec } = document.toJS() as Definition;
        for (const { name: version, schema } of spec.versions) {
          const strict = makeStrict(schema.openAPIV3Schema);
          // Of metadata a definition says nothing: it is the same for all.
          (strict.properties as Schema).metadata = { type: "object" };
          validators.set(`${spec.group}/${version} ${spec.names.kind}`, () => ajv.compile(strict));
        }
      }
    }
  }

  return {
    problemsOf(object) {
      const validate = validators.get(`${object.apiVersion} ${object.kind}`)?.();
      if (!validate) throw new Error(`There is no schema of ${object.apiVersion} ${object.kind}.`);
      validate(object);
      return (validate.errors ?? []).map(
        ({ instancePath, message, params }) => `${object.kind}${instancePath} ${message} ${JSON.stringify(params)}`,
      );
    },
  };
}

function makeStrict(schema: Schema): Schema {
  if (schema["x-kubernetes-int-or-string"]) schema.type = ["string", "integer", "number"];
  // Go's regular expressions have flags inside, JavaScript's have not.
  if (String(schema.pattern).includes("(?i)")) delete schema.pattern;
  const open = "additionalProperties" in schema || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if ("properties" in schema && !open) schema.additionalProperties = false;
  for (const inner of Object.values((schema.properties ?? {}) as Record<string, Schema>)) makeStrict(inner);
  for (const key of ["items", "additionalProperties"]) {
    const inner = schema[key];
    if (typeof inner === "object" && inner !== null) makeStrict(inner as Schema);
  }
  return schema;
}
