/** Between the body's opening brace and this field there are an id, a name and a time: texts without a brace. */
const FIELD = /^\{[^{]*?"entityType":("(?:[^"\\]|\\.)*")/;

/** The kind of entity that the beginning of a body names, as receivers read it; null where it names none. */
export function entityTypeOf(head: string): string | null {
  const text = FIELD.exec(head)?.[1];
  return text === undefined ? null : (JSON.parse(text) as string);
}
