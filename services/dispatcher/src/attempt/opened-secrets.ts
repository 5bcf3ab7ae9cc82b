import { KeyMissingError } from "@herald/common/security/sealing-keys";
import type { SecretBox } from "@herald/common/security/secret-box";

export type OpenedSecrets = ReturnType<typeof keepOpened>;

/**
 * Keeps the secrets that were opened last, since opening one takes a key agreement, and most attempts go to an endpoint that has just had one. A kept
 * secret belongs to a sealed text in its context, so a replaced secret, or one that was moved to another row, is opened again. A secret that does not
 * open is not kept: the next attempt tries again.
 *
 * @param maxSecrets secrets that are kept; the one that was used longest ago is dropped
 */
export function keepOpened(box: Pick<SecretBox, "open">, maxSecrets: number) {
  const opened = new Map<string, string>();
  let isKeyMissing = false;

  function openNow(sealed: string, context: string): string {
    try {
      return box.open(sealed, context);
    } catch (error) {
      isKeyMissing ||= error instanceof KeyMissingError;
      throw error;
    }
  }

  return {
    open(sealed: string, context: string): string {
      // No sealed text holds a line break.
      const key = `${sealed}\n${context}`;
      const secret = opened.get(key) ?? openNow(sealed, context);
      // A Map keeps its order of insertion: the used secret goes to the end.
      opened.delete(key);
      opened.set(key, secret);
      if (opened.size > maxSecrets) {
        const [oldest = ""] = opened.keys();
        opened.delete(oldest);
      }
      return secret;
    },
    /** Whether a key was missing that other dispatchers may have. */
    isKeyMissing: () => isKeyMissing,
  };
}
