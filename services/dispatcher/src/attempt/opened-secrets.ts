import { KeyMissingError } from "@herald/common/security/sealing-keys";
import type { SecretBox } from "@herald/common/security/secret-box";

export type OpenedSecrets = ReturnType<typeof keepOpened>;

/**
 * Keeps the secrets that were opened last, since opening one takes a key agreement. A kept secret belongs to a sealed text in its context, so one
 * that was replaced, or moved to another row, is opened again.
 *
 * @param maxSecrets beyond this number, the one that was used longest ago is dropped
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
