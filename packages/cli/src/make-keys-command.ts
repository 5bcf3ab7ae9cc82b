import { parseArgs } from "node:util";
import { machineClock as ownClock } from "@herald/common/runtime/clock";
import { KEY_ID, newSealingKeys } from "@herald/common/security/sealing-keys";
import { type Command, UsageError } from "./command.ts";

export const makeKeysCommand: Command = {
  summary: "makes a pair of keys for the signing secrets at rest",
  help: `herald make-keys: makes a pair of keys for the signing secrets at rest

  herald make-keys [--id ID]

  --id ID   how each secret names the pair that it is sealed to: 1 to 32 letters, digits, "-" or "_"; today's date where
            it is not given. It must stay with the pair, and no other pair may have it

It prints two settings as lines of an environment file, and keeps nothing:

  SECRET_KEYS          private, it opens: for dispatchers, herald rotate-keys and herald doctor. Keep a copy elsewhere: without
                       it no signing secret can be opened, and the admins have to replace them all
  SECRET_SEALING_KEY   public, it seals and can't open: for the management API. It is no secret

To replace a pair by another: herald rotate-keys --help.
`,
  async run(args, { stdout, machineClock = ownClock }) {
    const { values } = parseArgs({ args, options: { id: { type: "string" } } });
    const id = values.id ?? machineClock.now().toISOString().slice(0, "2026-01-31".length);
    if (!KEY_ID.test(id)) throw new UsageError(`--id takes 1 to 32 letters, digits, "-" or "_", not "${id}".`);
    const { SECRET_KEYS, SECRET_SEALING_KEY } = newSealingKeys(id);
    stdout(`# Private: for dispatchers, herald rotate-keys and herald doctor. Keep a copy elsewhere.
SECRET_KEYS=${SECRET_KEYS}
# Public: for the management API.
SECRET_SEALING_KEY=${SECRET_SEALING_KEY}
`);
  },
};
