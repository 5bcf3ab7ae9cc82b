import type { Catalogue } from "@herald/contracts";
import { eventSchemaFiles, type Schema } from "@herald/contracts/schemas";
import { Router } from "express";
import { publicFile } from "../http/public-file.ts";
import { refuseOtherMethods } from "../http/router.ts";
import type { OpenApiDocument } from "./document.ts";
import { codesOf, type OpenApiResponse } from "./responses.ts";

type Shared = "responses" | "parameters" | "headers";

/** The document as it is published: answers, parameters and headers that several operations share stand once, among the components. */
export function published(document: OpenApiDocument) {
  const all = [
    ...Object.values(document.paths).flatMap((methods) => Object.values(methods)),
    ...Object.values(document.webhooks).map(({ post }) => post),
  ] as Pick<Operation, "parameters" | "responses">[];
  const answers = all.flatMap(({ responses }) => Object.entries(responses));
  const headers = shelf(
    "headers",
    answers.flatMap(([, each]) => Object.entries(each.headers ?? {})),
  );
  const parameters = shelf(
    "parameters",
    all.flatMap((each) => (each.parameters ?? []).map((one): Entry => [String(one.name), one])),
  );
  const withHeaders = (response: OpenApiResponse): Schema => ({
    ...response,
    ...(response.headers && { headers: mapValues(response.headers, (each, name) => headers.put(name, each)) }),
  });
  const nameOf = namesOfProblems(answers);
  const problems = shelf(
    "responses",
    answers.map(([status, each]): Entry => [nameOf(status, each), withHeaders(each)]),
  );
  const withRefs = (operation: object): Schema => {
    const { parameters: own, responses, ...rest } = operation as Operation;
    return {
      ...rest,
      ...(own && { parameters: own.map((each) => parameters.put(String(each.name), each)) }),
      responses: mapValues(responses, (each, status) => problems.put(nameOf(status, each), withHeaders(each))),
    };
  };
  return {
    ...document,
    paths: mapValues(document.paths, (methods) => mapValues(methods, withRefs)),
    webhooks: mapValues(document.webhooks, ({ post }) => ({ post: withRefs(post) })),
    components: {
      ...document.components,
      schemas: mapValues(document.components.schemas, openList),
      responses: problems.parts,
      parameters: parameters.parts,
      headers: headers.parts,
    },
  };
}

/** Lists of values grow within a version, and generated clients refuse a value that they don't know: so they are texts, with the values beside. */
export function openList({ enum: values, ...schema }: Schema): Schema {
  return { ...schema, ...(values !== undefined && { "x-extensible-enum": values }) };
}

interface Operation {
  parameters?: Schema[];
  responses: Record<string, OpenApiResponse>;
  [field: string]: unknown;
}

type Entry = [name: string, value: unknown];

/** The things of one kind that come more than once, by their names; if two of a name differ, the second one has a number. */
function shelf(kind: Shared, entries: Entry[]): { parts: Record<string, unknown>; put: (...entry: Entry) => unknown } {
  const textOf = ([name, value]: Entry) => `${name} ${JSON.stringify(value)}`;
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(textOf(entry), (counts.get(textOf(entry)) ?? 0) + 1);
  const parts: Record<string, unknown> = {};
  const names = new Map<string, string>();
  for (const entry of entries) {
    const text = textOf(entry);
    if (names.has(text) || counts.get(text) === 1) continue;
    let [free] = entry;
    for (let number = 2; free in parts; number += 1) free = `${entry[0]}${number}`;
    names.set(text, free);
    parts[free] = entry[1];
  }
  return {
    parts,
    put(...entry) {
      const name = names.get(textOf(entry));
      return name === undefined ? entry[1] : { $ref: `#/components/${kind}/${name}` };
    },
  };
}

/** Problems are named by their status and, if it has several answers, by the codes that not all of these have. */
function namesOfProblems(
  answers: [status: string, OpenApiResponse][],
): (status: string, of: OpenApiResponse) => string {
  return (status, response) => {
    const codes = codesOf(response);
    const variants = answers.filter(([each]) => each === status).map(([, each]) => codesOf(each));
    const special = codes.filter((code) => !variants.every((others) => others.includes(code)));
    return [codes.length === 0 ? "Answer" : "Problem", status, ...special.map(pascal)].join("");
  };
}

function pascal(code: string): string {
  return code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function mapValues<Value, Result>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}

/** The OpenAPI document, for anyone: it holds nothing that is secret. */
export function openApiRoutes(document: OpenApiDocument): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/openapi.json")
    .get(publicFile(JSON.stringify(published(document)), { type: "application/json" }))
    .all(refuseOtherMethods(["get"]));
  return router;
}

/** The JSON Schema of each event, for anyone: `/schemas/events/RiskCreated.json`, `/schemas/requests/RiskCreated.json`. */
export function schemaRoutes(catalogue: Catalogue): Router {
  const router = Router({ caseSensitive: true });
  for (const [path, text] of Object.entries(eventSchemaFiles(catalogue))) {
    router
      .route(`/schemas/${path}`)
      .get(publicFile(text, { type: "application/schema+json", cacheControl: "public, max-age=3600" }))
      .all(refuseOtherMethods(["get"]));
  }
  return router;
}
