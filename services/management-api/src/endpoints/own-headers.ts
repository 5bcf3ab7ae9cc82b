import {
  headerContext,
  plaintextBytes,
  type SealedHeaders,
  type SecretSealer,
} from "@herald/common/security/secret-box";
import type { FieldProblem, SaveWebhookRequest } from "@herald/contracts";
import { invalidRequest } from "../problems/problem-error.ts";
import { type Fault, foldedName } from "../validation/formats.ts";

const MAX_BYTES = 4_096;

/**
 * The headers that a request asks for, as they are stored: sealed values, and null for each that is kept. Undefined if all stay as they are.
 *
 * A value is kept only if the URL stays on its server: otherwise an admin, who can't read it, could have it sent to a server of theirs.
 * @throws ProblemError `invalid_request`
 */
export function sealHeaders(
  id: string,
  { headers, url }: SaveWebhookRequest,
  stored: { url: string; headers: SealedHeaders },
  secrets: SecretSealer,
): Record<string, string | null> | undefined {
  const sealed = new Map(Object.entries(stored.headers));
  const wanted =
    headers === undefined
      ? [...sealed.keys()].map((name) => [name, null] as const)
      : Object.entries<string | null>(headers ?? {});
  const errors: FieldProblem[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (const [name, value] of wanted) {
    const kept = sealed.get(name);
    const fault = seen.has(foldedName(name)) ? REPEATED : value === null ? keepFault(kept, url, stored.url) : null;
    if (fault) errors.push({ pointer: `/headers/${name.replaceAll("~", "~0")}`, ...fault });
    seen.add(foldedName(name));
    bytes += name.length + (value?.length ?? (kept === undefined ? 0 : plaintextBytes(kept)));
  }
  if (bytes > MAX_BYTES) {
    const detail = `Names and values together have ${bytes} bytes; ${MAX_BYTES} is the most.`;
    errors.push({ pointer: "/headers", code: "too_long", detail });
  }
  if (errors.length > 0) throw invalidRequest(errors);
  if (headers === undefined) return undefined;
  return Object.fromEntries(
    wanted.map(([name, value]) => [name, value === null ? null : secrets.seal(value, headerContext(id, name))]),
  );
}

const REPEATED: Fault = {
  code: "repeated",
  detail: "Receivers may take this name for that of another header here: case, - and _ do not distinguish names.",
};

function keepFault(sealed: string | undefined, url: string, urlBefore: string): Fault | null {
  if (sealed === undefined) return { code: "missing", detail: "No value is stored under this name: give one." };
  if (new URL(url).origin === new URL(urlBefore).origin) return null;
  const detail =
    "The URL is of another server now, so the stored value is not kept: give it again, or remove the header.";
  return { code: "value_needed", detail };
}
