/** The fields of a message from the broker. No delivery is lost with a message that can't be read: PostgreSQL knows what is due. */
export function readJson<T>(content: Buffer): Partial<T> {
  try {
    return (JSON.parse(content.toString("utf8")) ?? {}) as Partial<T>;
  } catch {
    return {};
  }
}
