import { parseArgs } from "node:util";
import { localFolder } from "../stack/folders.ts";
import { DEFAULT_LIFE, developmentToken, FULL_ACCESS } from "../start/development-token.ts";
import { localSecrets, readRunFile } from "../start/local-files.ts";
import { runCommand, UsageError } from "./run-command.ts";

const HELP = `Mints a token for the Herald that runs here, and prints it. Without options it may do everything.

  pnpm -s run token [options]

  --organization ID     whose webhooks it is about (the one of "pnpm start" by default)
  --permissions a,b     integrations.view,integrations.manage by default
  --expires-in 1h       how long it is good for: a number and s, m, h or d (30d by default)

Fewer permissions take rights away: pnpm -s run token --permissions integrations.view
Use it as: curl -H "Authorization: Bearer $(pnpm -s run token)" ...`;

await runCommand(HELP, async () => {
  const { values } = parseArgs({
    options: {
      organization: { type: "string" },
      permissions: { type: "string" },
      "expires-in": { type: "string" },
    },
  });
  const life = values["expires-in"] ?? DEFAULT_LIFE;
  if (!/^\d+\s*[smhd]$/.test(life)) {
    throw new UsageError(`--expires-in takes a number and s, m, h or d, such as 1h; "${life}" is none.`);
  }
  const { organizationId } = readRunFile();
  const { jwtSecret } = localSecrets(localFolder());
  const claims = {
    ...FULL_ACCESS,
    organizationId: values.organization ?? organizationId,
    permissions: values.permissions?.split(",").filter((part) => part !== "") ?? FULL_ACCESS.permissions,
  };
  console.log(await developmentToken(jwtSecret, claims, life));
});
