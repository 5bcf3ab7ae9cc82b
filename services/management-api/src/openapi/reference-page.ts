import type { Schema } from "@herald/contracts/schemas";
import { catalogue, problemKinds, problemType } from "../problems/catalogue.ts";
import type { OpenApiDocument, OpenApiOperation } from "./document.ts";
import { type Html, html, prose } from "./html.ts";
import { codesOf, type OpenApiResponse } from "./responses.ts";

const ACCESS = {
  view: html`<code>integrations.view</code>`,
  manage: html`<code>integrations.view</code> and <code>integrations.manage</code>`,
  save: html`<code>integrations.view</code>, <code>integrations.manage</code> and the entitlement <code>integrations</code>`,
};

/** The API's reference as one page without scripts, made of its OpenAPI document and the catalogue of problems. */
export function referencePage(document: OpenApiDocument): string {
  const { info, servers, paths, components } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title}</title>
<link rel="stylesheet" href="reference.css">
</head>
<body>
<nav aria-label="Contents">
<h2>Operations</h2>
<ul>${operations.map(({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`)}</ul>
<h2><a href="#receivers">What receivers get</a></h2>
<h2><a href="#schemas">Schemas</a></h2>
<h2><a href="#problems">Problems</a></h2>
</nav>
<main>
<h1>${info.title}</h1>
<p>${prose(info.description)}</p>
<p>Every path begins with <code>${servers[0]?.url ?? ""}</code>, unless it says otherwise. Send <code>Authorization: Bearer &lt;token&gt;</code> with the
access token of a signed-in user; API keys aren't accepted. For programs: <a href="openapi.json">openapi.json</a>.</p>
${operations.map(({ path, method, operation }) => operationSection(path, method, operation, components.schemas))}
<h2 id="receivers">What receivers get</h2>
${receiversSection(document)}
<h2 id="schemas">Schemas</h2>
${Object.entries(components.schemas).map(([name, schema]) => schemaSection(name, schema))}
<h2 id="problems">Problems</h2>
<p>What <code>code</code> can be, and what to do.</p>
${table(["Code", "Status", "When", "What to do"], problemRows())}
</main>
</body>
</html>
`;
  return page.html;
}

function operationSection(
  path: string,
  method: string,
  { operationId, summary, description, parameters = [], requestBody, responses, ...operation }: OpenApiOperation,
  schemas: Record<string, Schema>,
): Html {
  const body = requestBody && schemas[nameOf(requestBody.content["application/json"].schema) ?? ""];
  const all = Object.entries(responses);
  return html`<section id="${operationId}" class="operation">
<h2>${summary}</h2>
<p class="route"><b class="${method}">${method.toUpperCase()}</b> <code>${path}</code></p>
<p>${prose(description)}</p>
<p>${needs(operation)}</p>
${parameters.length > 0 ? html`<h3>Parameters</h3>${table(["Name", "Type", "Meaning"], parameters.map(parameterRow))}` : ""}
${body ? html`<h3>Body</h3>${fieldsTable(body)}` : ""}
<h3>Answer</h3>
${table(["Status", "Body", "Meaning"], all.filter(([, { content }]) => !isProblem(content)).map(answerRow))}
<details>
<summary>Problems</summary>
${table(["Status", "Codes"], all.filter(([, { content }]) => isProblem(content)).map(problemRow))}
</details>
</section>
`;
}

function needs({
  servers,
  "x-required-access": access,
}: Pick<OpenApiOperation, "servers" | "x-required-access">): Html {
  if (servers) return html`Needs no token. The path is not under that of the API.`;
  return html`Needs ${access === null ? "any valid token" : ACCESS[access]}.`;
}

/** The requests are alike but for the event: the first one's headers are those of all. */
function receiversSection({ webhooks }: OpenApiDocument): Html {
  const requests = Object.values(webhooks).map(({ post }) => post);
  const rows = requests.map(({ summary }) => [
    html`${String(summary)}`,
    typeOf({ $ref: "#/components/schemas/EventPayload" }),
  ]);
  const [first] = requests;
  return html`<p>${prose(String(first?.description ?? ""))}</p>
<h3>Headers</h3>${table(["Name", "Type", "Meaning"], ((first?.parameters ?? []) as Schema[]).map(parameterRow))}
<h3>Bodies</h3>${table(["Event", "Body"], rows)}`;
}

function schemaSection(name: string, schema: Schema): Html {
  return html`<section id="schema-${name}">
<h3>${name}</h3>
<p>${prose(String(schema.description ?? ""))}</p>
${schema.properties ? fieldsTable(schema) : html`<p>${typeOf(schema)}</p>`}
</section>
`;
}

function fieldsTable(schema: Schema): Html {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const required = (schema.required ?? []) as string[];
  const rows = properties.map(([property, each]) => [
    html`<code>${property}</code>${required.includes(property) ? "" : html` <small>optional</small>`}`,
    typeOf(each),
    prose(String(each.description ?? "")),
  ]);
  return table(["Field", "Type", "Meaning"], rows);
}

function parameterRow(parameter: Schema): Html[] {
  return [
    html`<code>${String(parameter.name)}</code> <small>${String(parameter.in)}</small>`,
    typeOf(parameter.schema as Schema),
    prose(String(parameter.description ?? "")),
  ];
}

function answerRow([status, { description, content = {} }]: [string, OpenApiResponse]): Html[] {
  const bodies = Object.entries(content).map(([type, { schema }]) =>
    type === "application/json" ? typeOf(schema) : html`<code>${type}</code>: ${typeOf(schema)}`,
  );
  return [html`<code>${status}</code>`, bodies.length > 0 ? join(bodies) : html`none`, prose(description)];
}

function isProblem(content: OpenApiResponse["content"]): boolean {
  return content !== undefined && "application/problem+json" in content;
}

function problemRow([status, response]: [string, OpenApiResponse]): Html[] {
  const codes = codesOf(response).map(
    (code) => html`<a href="#problem-${code}"><code>${code}</code></a> ${catalogue[code].title}<br>`,
  );
  return [html`<code>${status}</code>`, html`${codes}`];
}

function problemRows(): Html[][] {
  return problemKinds.map(([code, { status, when, action }]) => [
    html`<code id="problem-${code}">${code}</code><br><small>${problemType(code)}</small>`,
    html`${status}`,
    prose(when),
    prose(action),
  ]);
}

/** The name that a schema refers to by, if it's a reference. */
function nameOf({ $ref }: Schema): string | undefined {
  return typeof $ref === "string" ? $ref.split("/").at(-1) : undefined;
}

/** A schema's type in a few words, with links to those that have a name. */
function typeOf(schema: Schema): Html {
  const name = nameOf(schema);
  if (name !== undefined) return html`<a href="#schema-${name}">${name}</a>`;
  if (Array.isArray(schema.anyOf)) return join(schema.anyOf.map(typeOf));
  if (Array.isArray(schema.enum)) return join(schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`));
  if (schema.contentSchema) return html`lines of ${typeOf(schema.contentSchema as Schema)}`;
  if (schema.type === "array") return schema.items ? html`list of ${typeOf(schema.items as Schema)}` : html`list`;
  if (schema.properties) {
    const properties = Object.entries(schema.properties as Record<string, Schema>);
    return html`object: ${properties.map(([name, each]) => html`<br><code>${name}</code> ${typeOf(each)}`)}`;
  }
  const type = [schema.type ?? "any value"].flat().join(" or ");
  const bounds = [
    schema.format,
    schema.maxLength && `at most ${schema.maxLength} characters`,
    schema.minimum !== undefined && schema.maximum !== undefined && `${schema.minimum} to ${schema.maximum}`,
  ].filter(Boolean);
  return html`${type} <small>${bounds.join(", ")}</small>`;
}

function join(parts: Html[]): Html {
  return html`${parts.flatMap((part, index) => (index === 0 ? [part] : [html` or `, part]))}`;
}

function table(heads: string[], rows: Html[][]): Html {
  return html`<table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>\n`)}</tbody>
</table>`;
}

/** `docs/api/errors.md`, made of the catalogue. */
export function errorsPage(): string {
  const sections = problemKinds.map(([code, { status, title, when, action }]) =>
    [
      `## \`${code}\``,
      `**${status}** · ${title} · \`${problemType(code)}\``,
      `When: ${when}`,
      `What to do: ${action}`,
    ].join("\n\n"),
  );
  return `${INTRODUCTION}\n\n${sections.join("\n\n")}\n`;
}

const INTRODUCTION = `# Errors of the management API

Made of the catalogue in \`services/management-api/src/problems/catalogue.ts\` by \`pnpm run docs\`.

Every error is an \`application/problem+json\` document (RFC 9457):

\`\`\`json
{
  "type": "urn:herald:problem:invalid-request",
  "title": "The request has fields that can't be accepted",
  "status": 400,
  "code": "invalid_request",
  "detail": "Not acceptable: url. Correct what errors lists, and send the request again.",
  "requestId": "01a1f9ac-85fd-7156-8e4f-74b5a3a80985",
  "errors": [
    {
      "pointer": "/url",
      "code": "url_not_https",
      "detail": "The URL starts with http://, but events are sent over https:// only."
    }
  ]
}
\`\`\`

Programs branch on \`code\` (or \`type\`, which says the same), never on the texts. \`detail\` is for people: what happened this
time, and what to do. \`errors\` lists everything bad at once: a field of the body with its JSON pointer as \`pointer\`, a query parameter with
its name as \`parameter\`. \`missing\` lists everything that a 403 lacks. \`requestId\` is also the header \`X-Request-Id\`, and names the
response in Herald's log: give it to support.

A failed *delivery* is no error of this API: see \`statusCode\` and \`errorSummary\` of the delivery.`;
