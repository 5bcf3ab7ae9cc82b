import { parseArgs } from "node:util";
import { localFolder } from "../stack/folders.ts";
import { DEFAULT_LIFE, developmentToken, FULL_ACCESS } from "../start/development-token.ts";
import { localSecrets, readRunFile } from "../start/local-files.ts";
import { runCommand, UsageError } from "./run-command.ts";

const HELP = `Mints a token for the Herald that runs here, and prints it. Without options it may do everything.

  pnpm -s run token [options]

  --organization ID     whose webhooks it is about (the one of "pnpm start" by default)
  --permissions a,b     integrations.view,integrations.manage by default
  --entitlements a,b    integrations by default
  --subscription S      active by default
  --modules a,b         administration by default
  --expires-in 1h       how long it is good for: a number and s, m, h or d (30d by default)

An empty list takes rights away: pnpm -s run token --permissions integrations.view --entitlements ""
Use it as: curl -H "Authorization: Bearer $(pnpm -s run token)" ...`;

await runCommand(HELP, async () => {
  const { values } = parseArgs({
    options: {
      organization: { type: "string" },
      permissions: { type: "string" },
      entitlements: { type: "string" },
      subscription: { type: "string" },
      modules: { type: "string" },
      "expires-in": { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  const life = values["expires-in"] ?? DEFAULT_LIFE;
  if (!/^\d+\s*[smhd]$/.test(life)) {
    throw new UsageError(`--expires-in takes a number and s, m, h or d, such as 1h; "${life}" is none.`);
  }
  const local = localFolder();
  const { organizationId } = readRunFile(local);
  const { jwtSecret } = localSecrets(local);
  const claims = {
    organizationId: values.organization ?? organizationId,
    permissions: list(values.permissions) ?? FULL_ACCESS.permissions,
    entitlements: list(values.entitlements) ?? FULL_ACCESS.entitlements,
    subscription: values.subscription ?? FULL_ACCESS.subscription,
    modules: list(values.modules) ?? FULL_ACCESS.modules,
  };
  console.log(await developmentToken(jwtSecret, claims, life));
});

function list(text: string | undefined): string[] | undefined {
  return text?.split(",").filter((part) => part !== "");
}
