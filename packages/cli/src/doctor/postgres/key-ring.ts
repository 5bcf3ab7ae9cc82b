import type { SecretBox } from "@herald/common/security/secret-box";
import { readSealedSecrets } from "../../rotate-keys/reseal-secrets.ts";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, skipped } from "../finding.ts";
import { plural } from "../report.ts";
import type { StoredSubject } from "./subject.ts";

const PAGE_SIZE = 1_000;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

export interface SecretCounts {
  all: number;
  /** Those that no key of the ring opens. */
  unreadable: number;
  /** Those that an older key than the newest has sealed. */
  older: number;
  /** Why the first of the unreadable ones does not open. */
  reason: string;
}

export const keyRing: Check<StoredSubject> = {
  name: "key ring",
  async examine({ queries, secretBox }) {
    if (secretBox === undefined) return skipped("SECRET_KEYS is not set here, or can't be used.");
    const counts: SecretCounts = { all: 0, unreadable: 0, older: 0, reason: "" };
    for (let after = FIRST_ID; ; ) {
      const page = await readSealedSecrets(queries, { after, pageSize: PAGE_SIZE });
      for (const { endpointId, sealedSecret } of page) tryOne(secretBox, counts, endpointId, sealedSecret);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_SIZE) return keyRingFinding(counts);
      after = last.endpointId;
    }
  },
};

function tryOne(box: SecretBox, counts: SecretCounts, endpointId: string, sealedSecret: string): void {
  counts.all++;
  if (!box.isSealedWithNewest(sealedSecret)) counts.older++;
  try {
    box.open(sealedSecret, endpointId);
  } catch (error) {
    counts.unreadable++;
    counts.reason ||= (error as Error).message;
  }
}

export function keyRingFinding({ all, unreadable, older, reason }: SecretCounts): Finding {
  if (unreadable > 0) {
    return fault(
      `${unreadable} of ${plural(all, "signing secret")} can't be opened, so nothing is sent to their endpoints. The first: ${reason}.`,
      "Put the missing key back into SECRET_KEYS, behind the newest. Where it is lost, the admins have to replace these secrets.",
    );
  }
  if (all === 0) return ok("No signing secret is stored yet.");
  return ok(
    older > 0
      ? `${all} signing secrets open, ${older} of them by an older key.`
      : `${plural(all, "signing secret")} opened.`,
  );
}
