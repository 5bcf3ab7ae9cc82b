import { secretSettings } from "@herald/common/config/common-settings";
import { readConfig, readSetting } from "@herald/common/config/read-config";
import { machineClock as ownClock } from "@herald/common/runtime/clock";
import { KEY_ID, newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox } from "@herald/common/security/secret-box";
import { action, type Command, positiveInteger, UsageError } from "../command.ts";
import { withDatabase } from "../connections.ts";
import { rotateKeys } from "./rotate-keys.ts";

const MAX_UNREADABLE_SHOWN = 20;

const make = action({
  changes: false,
  usage: "[--id ID]",
  options: { id: { type: "string" } },
  run(values, { stdout, machineClock = ownClock }) {
    const id = values.id ?? machineClock.now().toISOString().slice(0, "2026-01-31".length);
    if (!KEY_ID.test(id)) throw new UsageError(`--id takes 1 to 32 letters, digits, "-" or "_", not "${id}".`);
    const { SECRET_KEYS, SECRET_SEALING_KEY } = newSealingKeys(id);
    stdout(`# Private: for dispatchers, herald keys rotate and herald doctor. Keep a copy elsewhere.
SECRET_KEYS=${SECRET_KEYS}
# Public: for the management API.
SECRET_SEALING_KEY=${SECRET_SEALING_KEY}
`);
  },
});

const rotate = action({
  changes: (values) => !values["dry-run"],
  usage: "[--dry-run] [--page-size 500]",
  options: { "dry-run": { type: "boolean", default: false }, "page-size": { type: "string", default: "500" } },
  async run(values, context) {
    const options = { dryRun: values["dry-run"], pageSize: positiveInteger("--page-size", values["page-size"]) };
    const { SECRET_KEYS } = readConfig(secretSettings, context.environment);
    const box = readSetting("SECRET_KEYS", () => secretBox(SECRET_KEYS));
    const { stdout, progress } = context;
    const { endpoints, resealed, overtaken, unreadable } = await withDatabase(context, (queries) =>
      rotateKeys(queries, box, options, (soFar) =>
        progress(`${soFar.endpoints} endpoints, ${soFar.resealed} secrets sealed`),
      ),
    );
    stdout(`${resealed} of ${endpoints} secrets ${options.dryRun ? "would be" : "were"} sealed anew.\n`);
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
    if (!options.dryRun) {
      stdout(
        "All are sealed to the newest key. The older ones can leave SECRET_KEYS once every management API seals to the newest too.\n",
      );
    }
    return { endpoints, resealed };
  },
});

export const keysCommand: Command = {
  summary: "makes and replaces the keys that seal endpoints' signing secrets",
  actions: { make, rotate },
  help: `  make     prints a pair of keys as two lines of an environment file, and keeps nothing:
           SECRET_KEYS          private, it opens: for dispatchers, herald keys rotate and herald doctor. Keep a copy elsewhere:
                                without it no signing secret can be opened, and the admins have to replace them all
           SECRET_SEALING_KEY   public, it seals and can't open: for the management API. It is no secret
  rotate   seals every signing secret to the newest key of SECRET_KEYS. It fails where one can't be opened: it names those,
           and seals the others all the same

  --id ID         how each secret names the pair that it is sealed to: 1 to 32 letters, digits, "-" or "_"; today's date where
                  it is not given. It must stay with the pair, and no other pair may have it
  --dry-run       says how many secrets it would seal anew, and changes nothing
  --page-size N   endpoints that it reads and writes at a time

The signing secrets themselves stay: receivers notice nothing, and no endpoint's version changes. A rotation may run beside
services, and after an interruption it may run again. To replace a pair of keys:

  1. herald keys make
  2. give all dispatchers SECRET_KEYS with the new key first ("new:...,old:..."), so that each opens what is sealed to either
  3. give all management APIs the new SECRET_SEALING_KEY
  4. herald keys rotate, with the SECRET_KEYS of step 2, until it says that all are sealed to the newest key
  5. remove the old key from SECRET_KEYS; herald doctor says whether what is left opens all that is and will be sealed
`,
};
