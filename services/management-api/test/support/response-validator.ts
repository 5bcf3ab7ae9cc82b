import type { Problem } from "@herald/contracts";
import type { Schema } from "@herald/contracts/schemas";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import { FORMAT_PATTERNS } from "../../src/openapi/component-schemas.ts";
import type { OpenApiDocument, OpenApiOperation } from "../../src/openapi/document.ts";

/** A response, as supertest and fetch alike can give it. */
export interface SeenResponse {
  method: string;
  /** Path without query. */
  path: string;
  status: number;
  headers: Record<string, unknown>;
  /** Parsed if it is JSON, else undefined. */
  body: unknown;
  text: string;
}

/** Compares responses with an OpenAPI document. Throws if one differs from the document; nothing beyond it passes. */
export function responseValidator(document: OpenApiDocument): (response: SeenResponse) => void {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  ajvFormats.default(ajv);
  for (const name of Object.keys(FORMAT_PATTERNS)) ajv.addFormat(name, true);
  ajv.addSchema({ $id: "document", components: { schemas: closed(document.components.schemas) } });
  const compiled = new Map<string, ValidateFunction>();

  function validatorOf(schema: Schema): ValidateFunction {
    const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
    const known = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, known);
    return known;
  }

  return (response) => {
    const { method, path, status } = response;
    const fail = (why: string): never => {
      throw new Error(
        `${method} ${path} answered ${status}, which isn't in the OpenAPI document: ${why}\n${response.text}`,
      );
    };
    const operation = findOperation(document, method, path);
    if (operation === undefined) {
      // The body of a HEAD is its status.
      if (method.toUpperCase() === "HEAD" && [404, 405].includes(status)) return;
      const code = (response.body as { code?: string } | undefined)?.code;
      if (code !== "route_not_found" && code !== "method_not_allowed") fail("there is no such operation");
      return;
    }
    const described = operation.responses[status] ?? fail("the operation has no such status");
    for (const [name, { required }] of Object.entries(described.headers ?? {})) {
      if (required && response.headers[name.toLowerCase()] === undefined) fail(`the header ${name} is missing`);
    }
    if (described.content === undefined) {
      if (response.text !== "") fail("there should be no body");
      return;
    }
    const type = String(response.headers["content-type"] ?? "").split(";")[0] ?? "";
    const content = described.content[type] ?? fail(`the content type is ${type}`);
    // A HEAD has the headers of a GET and no body.
    if (method.toUpperCase() === "HEAD") return;
    const validate = validatorOf(content.schema);
    const body = type.endsWith("json") ? response.body : response.text;
    if (!validate(body)) fail(ajv.errorsText(validate.errors, { dataVar: "body" }));
    if (described["x-codes"]) {
      const { code, status: said } = body as Problem;
      if (!described["x-codes"].includes(code)) fail(`its code is ${code}`);
      if (said !== status) fail(`the body says the status ${said}`);
    }
  };
}

function findOperation(document: OpenApiDocument, method: string, path: string): OpenApiOperation | undefined {
  const prefix = document.servers[0]?.url ?? "";
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  const verb = method.toLowerCase() === "head" ? "get" : method.toLowerCase();
  for (const [template, methods] of Object.entries(document.paths)) {
    if (new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(rest)) return methods[verb];
  }
  return undefined;
}

/** Clients must ignore unknown fields; tests must not let any slip in. */
function closed<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(closed) as T;
  if (typeof schema !== "object" || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return ("properties" in copy && "type" in copy ? { ...copy, additionalProperties: false } : copy) as T;
}
