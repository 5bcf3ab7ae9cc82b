import type { SecretBox, SecretSealer } from "@herald/common/security/secret-box";
import { withDatabase } from "../connections.ts";
import { rotateKeys } from "../keys-command.ts";
import { plural } from "../output.ts";
import { type Check, fault, ok, skipped } from "./finding.ts";
import type { DatabaseSubject } from "./postgres.ts";

/** Opens every signing secret that is stored, as a rotation would. */
export const keyRing: Check<DatabaseSubject> = {
  name: "key ring",
  async examine({ url, ca, secretBox }) {
    if (secretBox === undefined) return skipped("SECRET_KEYS is not set here, or can't be used.");
    const { endpoints, resealed, unreadable } = await withDatabase({ url, ca }, (queries) =>
      rotateKeys(queries, secretBox, { pageSize: 1_000, dryRun: true }),
    );
    const secrets = plural(endpoints, "signing secret");
    const [first] = unreadable;
    if (first === undefined) return ok(`${secrets} opened, ${resealed} by an older key.`);
    return fault(
      `${unreadable.length} of ${secrets} can't be opened, so nothing is sent to their endpoints. The first: ${first.reason}.`,
      "Put the missing key back into SECRET_KEYS, behind the newest. If it is lost, the admins have to replace these secrets.",
    );
  },
};

/** The two halves of the keys for signing secrets, each undefined if its setting is not set or can't be used. */
interface SealingSubject {
  /** SECRET_SEALING_KEY */
  sealer: SecretSealer | undefined;
  /** SECRET_KEYS */
  secretBox: SecretBox | undefined;
}

const TRIAL = "herald doctor";

/** Seals something that is no secret, and tries to open it. */
export const sealingKey: Check<SealingSubject> = {
  name: "sealing key",
  async examine({ sealer, secretBox }) {
    if (sealer === undefined) return skipped("SECRET_SEALING_KEY is not set here, or can't be used.");
    if (secretBox === undefined) return skipped("SECRET_KEYS is not set here, or can't be used: nothing can be tried.");
    const sealed = sealer.seal(TRIAL, TRIAL);
    try {
      secretBox.open(sealed, TRIAL);
    } catch {
      const id = sealed.slice(0, sealed.indexOf("."));
      return fault(
        `No key of SECRET_KEYS opens what is sealed to SECRET_SEALING_KEY (key "${id}"), so nothing will be sent to new endpoints and those with new secrets.`,
        "Put the private key of that pair into SECRET_KEYS of all dispatchers, or give the management API the SECRET_SEALING_KEY that was made with theirs.",
      );
    }
    return [];
  },
};
