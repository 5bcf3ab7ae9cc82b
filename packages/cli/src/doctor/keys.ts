import { LIVING, type Process } from "@herald/common/service/processes";
import { withDatabase } from "../connections.ts";
import { rotateKeys } from "../keys-command.ts";
import { plural } from "../output.ts";
import { ANSWER_MS, type Check, fault, ok, skipped } from "./finding.ts";
import { type DatabaseSubject, differencesFrom } from "./postgres.ts";

/** Opens every signing secret and own header that is stored, as a rotation would. */
export const keyRing: Check<DatabaseSubject> = {
  name: "key ring",
  async examine({ url, caFile, secretBox, session, facts }) {
    if (secretBox === undefined) return skipped("SECRET_KEYS is not set here, or can't be used.");
    const {
      secrets: count,
      resealed,
      unreadable,
    } = await withDatabase({ url, caFile }, (queries, _, readsWithin) =>
      rotateKeys({ ...queries, ...readsWithin(ANSWER_MS) }, secretBox, { pageSize: 1_000, dryRun: true }),
    );
    const secrets = plural(count, "secret");
    const [first] = unreadable;
    if (first === undefined) return ok(`${secrets} opened, ${resealed} by an older key.`);
    const differences = differencesFrom(await session.read<Process>(LIVING), facts);
    if (differences.some(({ of }) => of === "keys"))
      return skipped(
        `${unreadable.length} of ${secrets} can't be opened here: first see the check "processes' settings".`,
      );
    return fault(
      `${unreadable.length} of ${secrets} can't be opened, so nothing is sent to their endpoints. The first: ${first.reason}.`,
      "Put the missing key back into SECRET_KEYS, behind the newest. If it is lost, the admins have to replace these secrets and own headers.",
    );
  },
};
