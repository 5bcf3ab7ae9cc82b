/** RFC 9112: a status line, or a header of one line, without its end. Bytes above 127 are allowed in values. */
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const HEADER = /^([!#$%&'*+.^_`|~\dA-Za-z-]+):[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Whether the head of a response is as HTTP has it, without doubt where its body ends. A head that is not can still say how the receiver decided;
 * but the connection may be out of step behind it.
 *
 * @param bytes what came of the response so far: its head, interim ones before it, perhaps a part of its body
 */
export function isByTheBook(bytes: Buffer): boolean {
  const text = bytes.toString("latin1");
  for (let from = 0; ; ) {
    const end = text.indexOf("\r\n\r\n", from);
    if (end < 0) return false;
    const [statusLine = "", ...headers] = text.slice(from, end).split("\r\n");
    if (!STATUS_LINE.test(statusLine)) return false;
    let framings = 0;
    for (const header of headers) {
      const name = HEADER.exec(header)?.[1];
      if (name === undefined) return false;
      if (/^(?:content-length|transfer-encoding)$/i.test(name)) framings++;
    }
    if (framings > 1) return false;
    if (!/^.{9}1(?!01)/.test(statusLine)) return true;
    from = end + 4;
  }
}
