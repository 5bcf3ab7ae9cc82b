import { setLatest } from "@herald/common/runtime/latest";
import { KeyError } from "@herald/common/security/sealing-keys";
import { keyIdOf, type SecretBox } from "@herald/common/security/secret-box";

export type OpenedSecrets = ReturnType<typeof keepOpened>;

/**
 * Keeps the secrets that were opened last, since opening one takes a key agreement. A kept secret belongs to a sealed text in its context, so one
 * that was replaced, or moved to another row, is opened again.
 */
export function keepOpened(box: Pick<SecretBox, "open">, maxSecrets: number) {
  const opened = new Map<string, string>();
  /** Ids of keys by which something opened, and by which something did not. A text that is damaged says nothing against a key that opens others. */
  const [proven, failed] = [new Set<string>(), new Set<string>()];

  function openNow(sealed: string, context: string): string {
    try {
      const secret = box.open(sealed, context);
      proven.add(keyIdOf(sealed));
      return secret;
    } catch (error) {
      if (error instanceof KeyError) failed.add(error.keyId);
      throw error;
    }
  }

  return {
    open(sealed: string, context: string): string {
      // No sealed text holds a line break.
      const key = `${sealed}\n${context}`;
      const secret = opened.get(key) ?? openNow(sealed, context);
      setLatest(opened, key, secret, maxSecrets);
      return secret;
    },
    /** Ids of keys that are missing here, or have opened nothing yet that named them: other dispatchers may have the right ones. */
    doubtfulKeys: (): string[] => [...failed].filter((id) => !proven.has(id)),
  };
}
