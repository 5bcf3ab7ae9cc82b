import { problemKinds, problemType } from "@herald/management-api";

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
