import type { SecretBox, SecretSealer } from "@herald/common/security/secret-box";
import type { Check } from "./check.ts";
import { type Finding, fault, ok, skipped } from "./finding.ts";

/** The two halves of the keys for signing secrets, each undefined where its setting is not set or can't be used. */
export interface SealingSubject {
  /** SECRET_SEALING_KEY */
  sealer: SecretSealer | undefined;
  /** SECRET_KEYS */
  secretBox: SecretBox | undefined;
}

export const sealingKey: Check<SealingSubject> = {
  name: "sealing key",
  async examine({ sealer, secretBox }) {
    if (sealer === undefined) return skipped("SECRET_SEALING_KEY is not set here, or can't be used.");
    if (secretBox === undefined) return skipped("SECRET_KEYS is not set here, or can't be used: nothing can be tried.");
    return sealingKeyFinding(sealer, secretBox);
  },
};

const TRIAL = "herald doctor";

/** Seals something that is no secret, and tries to open it. */
export function sealingKeyFinding(sealer: SecretSealer, secretBox: SecretBox): Finding {
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
    secretBox.isSealedWithNewest(sealed)
      ? "The newest key of SECRET_KEYS opens what is sealed to it."
      : "An older key of SECRET_KEYS opens what is sealed to it.",
  );
}
