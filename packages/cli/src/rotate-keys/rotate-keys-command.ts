import { parseArgs } from "node:util";
import { secretSettings } from "@herald/common/config/common-settings";
import { ConfigError, readConfig } from "@herald/common/config/read-config";
import { type SecretBox, secretBox } from "@herald/common/security/secret-box";
import { type Command, type CommandContext, positiveInteger } from "../command.ts";
import { withDatabase } from "../database.ts";
import { rotateKeys } from "./rotate-keys.ts";

const MAX_UNREADABLE_SHOWN = 20;

export const rotateKeysCommand: Command = {
  summary: "seals every endpoint's signing secret with the newest key",
  help: `herald rotate-keys: seals every endpoint's signing secret with the newest key of SECRET_KEYS

  herald rotate-keys [--dry-run] [--page-size 500]

  --dry-run       says how many secrets it would seal anew, and changes nothing
  --page-size N   endpoints that it reads and writes at a time

The signing secrets themselves stay: receivers notice nothing, and no endpoint's version changes. It may run beside services,
and after an interruption it may run again. To replace a key:

  1. give all services SECRET_KEYS with the new key last ("old:...,new:..."), so that each can open what another one seals
  2. give all services SECRET_KEYS with the new key first ("new:...,old:...")
  3. herald rotate-keys, until it says that all are sealed with the newest key
  4. remove the old key

It fails where a secret can't be opened. It names those, and seals the others all the same.
`,
  async run(args, context) {
    const { values } = parseArgs({
      args,
      options: { "dry-run": { type: "boolean", default: false }, "page-size": { type: "string", default: "500" } },
    });
    const options = { dryRun: values["dry-run"], pageSize: positiveInteger("--page-size", values["page-size"]) };
    const box = readBox(context);
    const { stdout, progress } = context;
    const { endpoints, resealed, overtaken, unreadable } = await withDatabase(context, (prisma) =>
      rotateKeys(prisma, box, options, (soFar) =>
        progress(`${soFar.endpoints} endpoints, ${soFar.resealed} secrets sealed`),
      ),
    );
    if (options.dryRun) stdout(`${resealed} of ${endpoints} secrets would be sealed anew.\n`);
    else stdout(`${resealed} of ${endpoints} secrets were sealed anew.\n`);
    if (unreadable.length > 0) {
      const shown = unreadable
        .slice(0, MAX_UNREADABLE_SHOWN)
        .map(({ endpointId, reason }) => `  ${endpointId}: ${reason}`);
      throw new Error(
        `${unreadable.length} secrets can't be opened, so nothing is sent to their endpoints either:\n${shown.join("\n")}`,
      );
    }
    if (overtaken > 0) {
      throw new Error(`${overtaken} secrets were replaced meanwhile; run it again to see whether with the newest key.`);
    }
    if (!options.dryRun) stdout("All are sealed with the newest key; the older ones can leave SECRET_KEYS.\n");
  },
};

function readBox({ environment }: CommandContext): SecretBox {
  const { SECRET_KEYS } = readConfig(secretSettings, environment);
  try {
    return secretBox(SECRET_KEYS);
  } catch (error) {
    throw new ConfigError([(error as Error).message]);
  }
}
