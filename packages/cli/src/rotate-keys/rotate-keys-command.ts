import { parseArgs } from "node:util";
import { secretSettings } from "@herald/common/config/common-settings";
import { readConfig, readSetting } from "@herald/common/config/read-config";
import { secretBox } from "@herald/common/security/secret-box";
import { type Command, positiveInteger } from "../command.ts";
import { withDatabase } from "../database.ts";
import { rotateKeys } from "./rotate-keys.ts";

const MAX_UNREADABLE_SHOWN = 20;

export const rotateKeysCommand: Command = {
  summary: "seals every endpoint's signing secret to the newest key",
  help: `herald rotate-keys: seals every endpoint's signing secret to the newest key of SECRET_KEYS

  herald rotate-keys [--dry-run] [--page-size 500]

  --dry-run       says how many secrets it would seal anew, and changes nothing
  --page-size N   endpoints that it reads and writes at a time

The signing secrets themselves stay: receivers notice nothing, and no endpoint's version changes. It may run beside services,
and after an interruption it may run again. To replace a pair of keys:

  1. herald make-keys
  2. give all dispatchers SECRET_KEYS with the new key first ("new:...,old:..."), so that each opens what is sealed to either
  3. give all management APIs the new SECRET_SEALING_KEY
  4. herald rotate-keys, with the SECRET_KEYS of step 2, until it says that all are sealed to the newest key
  5. remove the old key from SECRET_KEYS; herald doctor says whether what is left opens all that is and will be sealed

It fails where a secret can't be opened. It names those, and seals the others all the same.
`,
  async run(args, context) {
    const { values } = parseArgs({
      args,
      options: { "dry-run": { type: "boolean", default: false }, "page-size": { type: "string", default: "500" } },
    });
    const options = { dryRun: values["dry-run"], pageSize: positiveInteger("--page-size", values["page-size"]) };
    const { SECRET_KEYS } = readConfig(secretSettings, context.environment);
    const box = readSetting("SECRET_KEYS", () => secretBox(SECRET_KEYS));
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
      throw new Error(`${overtaken} secrets were replaced meanwhile; run it again to see whether to the newest key.`);
    }
    if (options.dryRun) return;
    stdout(
      "All are sealed to the newest key. The older ones can leave SECRET_KEYS once every management API seals to the newest too.\n",
    );
  },
};
