const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What a verified body says about itself; nothing of it where it is not JSON, since manual payloads may hold anything. */
export function readPayload(body: Uint8Array): { event: string | null; eventId: string | null; payload: unknown } {
  const payload = parse(body);
  const fields = typeof payload === "object" && payload !== null ? (payload as { type?: unknown; id?: unknown }) : {};
  return {
    event: typeof fields.type === "string" ? fields.type : null,
    eventId: isUuid(fields.id) ? fields.id.toLowerCase() : null,
    payload,
  };
}

export function isUuid(value: unknown): value is string {
  return typeof value === "string" && uuid.test(value);
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(body));
  } catch {
    return undefined;
  }
}
