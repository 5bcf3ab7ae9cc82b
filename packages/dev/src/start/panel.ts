import { delimiter, join } from "node:path";
import { isExecutable } from "../stack/programs.ts";
import type { RunInfo } from "./local-files.ts";

/** How this person runs pnpm: many have only npm. What npx itself put on the path does not count. */
function pnpmCommand(): string {
  const folders = (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => !/[\\/](_npx|node_modules)[\\/]/.test(folder));
  return folders.some((folder) => isExecutable(join(folder, "pnpm"))) ? "pnpm" : "npx -y pnpm@12";
}

/** What a person needs once everything runs: where things are, and the first three commands. */
export function panel(info: RunInfo, authorityFile: string, receiverControlUrl: string): string {
  const pnpm = pnpmCommand();
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
    -H "Authorization: Bearer $(${pnpm} -s run token)" -d '${endpoint}'

Emit a business event, and see it arrive below:

  ${pnpm} emit WorkItemCompleted

A token with other rights: ${pnpm} run token --help. Scripts find all this in .local/run.json. ctrl-C ends everything.
`;
}
