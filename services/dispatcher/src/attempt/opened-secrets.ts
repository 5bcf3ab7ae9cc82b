import { KeyMissingError } from "@herald/common/security/sealing-keys";
import type { SecretBox } from "@herald/common/security/secret-box";

export interface OpenedSecrets extends Pick<SecretBox, "open"> {
  /** Whether a key was missing that other dispatchers may have. */
  isKeyMissing(): boolean;
}

/**
 * Keeps what was opened last, since to open a secret takes a key agreement, and most attempts go to an endpoint that has just had
 * one. What is kept belongs to a sealed text in its context, so a replaced secret, or one that was moved to another row, is opened
 * anew. A secret that does not open is not kept: the next attempt tries again.
 *
 * @param maxSecrets so many are kept at the most; of more, the one that was asked for longest ago goes
 */
export function keepOpened(box: Pick<SecretBox, "open">, maxSecrets: number): OpenedSecrets {
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
    open(sealed, context) {
      // No sealed text holds a line break.
      const key = `${sealed}\n${context}`;
      const secret = opened.get(key) ?? openNow(sealed, context);
      // A Map keeps the order in which it was filled: what is asked for now goes to the end.
      opened.delete(key);
      opened.set(key, secret);
      if (opened.size > maxSecrets) {
        const [oldest = ""] = opened.keys();
        opened.delete(oldest);
      }
      return secret;
    },
    isKeyMissing: () => isKeyMissing,
  };
}
