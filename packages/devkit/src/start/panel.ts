import type { RunInfo } from "./run-file.ts";

/** What a person needs once everything runs: where things are, and the first three commands. */
export function panel(info: RunInfo, authorityFile: string, receiverControlUrl: string): string {
  const api = `${info.apiUrl}/api/organization/integration-operations`;
  const endpoint = JSON.stringify({
    name: "Demo receiver",
    url: info.receiverUrl,
    enabled: true,
    events: ["WorkItemCompleted"],
  });
  return `
Herald is ready.

  Admin page    ${info.adminSignInUrl}
  API           ${api}
  Token         ${info.token}
  Organization  ${info.organizationId}
  Broker        ${info.amqpUrl}
  Database      ${info.databaseUrl}
  Receiver      ${info.receiverUrl}   (what it can do: curl --cacert ${authorityFile} ${receiverControlUrl})
  Metrics       ${Object.values(info.metricsUrls).join("  ")}

Create an endpoint that points at the demo receiver:

  curl ${api}/webhooks -H 'Content-Type: application/json' \\
    -H "Authorization: Bearer $(pnpm -s token)" -d '${endpoint}'

Emit a business event, and see it arrive below:

  pnpm emit WorkItemCompleted

A token with other rights: pnpm token --help. Scripts find all this in .local/run.json. ctrl-C ends everything.
`;
}
