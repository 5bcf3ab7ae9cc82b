import type { SecretBox, SecretSealer } from "@herald/common/security/secret-box";
import { withQueries } from "../database.ts";
import { readSealedSecrets } from "../rotate-keys/reseal-secrets.ts";
import { type Check, type Finding, fault, ok, plural, skipped } from "./finding.ts";
import type { DatabaseSubject } from "./postgres.ts";

const PAGE_SIZE = 1_000;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** Opens every signing secret that is stored. */
export const keyRing: Check<DatabaseSubject> = {
  name: "key ring",
  async examine({ url, ca, secretBox }) {
    if (secretBox === undefined) return skipped("SECRET_KEYS is not set here, or can't be used.");
    const counts = { all: 0, unreadable: 0, older: 0, reason: "" };
    await withQueries({ url, ca }, async (queries) => {
      for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
        const page = await readSealedSecrets(queries, { after, pageSize: PAGE_SIZE });
        for (const { endpointId, sealedSecret } of page) {
          counts.all++;
          if (!secretBox.isSealedWithNewest(sealedSecret)) counts.older++;
          try {
            secretBox.open(sealedSecret, endpointId);
          } catch (error) {
            counts.unreadable++;
            counts.reason ||= (error as Error).message;
          }
        }
        after = page.length < PAGE_SIZE ? undefined : page.at(-1)?.endpointId;
      }
    });
    const { all, unreadable, older, reason } = counts;
    if (unreadable === 0) return ok(`${plural(all, "signing secret")} opened, ${older} by an older key.`);
    return fault(
      `${unreadable} of ${plural(all, "signing secret")} can't be opened, so nothing is sent to their endpoints. The first: ${reason}.`,
      "Put the missing key back into SECRET_KEYS, behind the newest. Where it is lost, the admins have to replace these secrets.",
    );
  },
};

/** The two halves of the keys for signing secrets, each undefined where its setting is not set or can't be used. */
export interface SealingSubject {
  /** SECRET_SEALING_KEY */
  sealer: SecretSealer | undefined;
  /** SECRET_KEYS */
  secretBox: SecretBox | undefined;
}

const TRIAL = "herald doctor";

/** Seals something that is no secret, and tries to open it. */
export const sealingKey: Check<SealingSubject> = {
  name: "sealing key",
  async examine({ sealer, secretBox }): Promise<Finding> {
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
    return ok(
      `${secretBox.isSealedWithNewest(sealed) ? "The newest" : "An older"} key of SECRET_KEYS opens what is sealed to it.`,
    );
  },
};
