/** The fault of a text: a code for programs, a detail for people. */
export interface Fault {
  code: string;
  detail: string;
}

export const fault = (code: string, detail: string): Fault => ({ code, detail });

/** The headers that no endpoint may have of its own, by the reason; a name that ends in `-` stands for all names that begin so. */
const REFUSED: readonly (readonly [reason: string, names: string])[] = [
  [
    "HTTP itself uses it for the connection and the body",
    "accept accept-charset accept-encoding connection content- date expect host http2-settings keep-alive max-forwards proxy- te trailer " +
      "transfer-encoding upgrade",
  ],
  ["proxies on the way set it", "forwarded via x-forwarded- x-real-ip"],
  ["it changes the method of the request", "x-http-method x-http-method-override x-method-override"],
  ["Herald sets it", "herald- traceparent tracestate user-agent webhook- x-herald- x-webhook-"],
];

/** As RFC 9110, 5.6.2, with a letter or digit first: no name of a header that is in use begins otherwise, and `__proto__` does. */
const TOKEN = /^[0-9A-Za-z][!#$%&'*+.^_`|~0-9A-Za-z-]{0,63}$/;
/** Visible ASCII, and spaces and tabs inside. */
const VALUE = /^[!-~](?:[\t -~]*[!-~])?$/;

/** Names that receivers may take for one: they differ in case, or in `-` and `_`, which CGI and its kin do not distinguish. */
export const foldedName = (name: string) => name.toLowerCase().replaceAll("_", "-");

/** @param headerPrefix the setting `HEADER_PREFIX`, with which Herald's own headers begin */
export function headerNameFault(name: string, headerPrefix: string): Fault | null {
  if (!TOKEN.test(name)) {
    return fault(
      "malformed",
      "A name has 1 to 64 letters, digits and characters of !#$%&'*+-.^_`|~ only, and begins with a letter or digit.",
    );
  }
  const own: typeof REFUSED = [["Herald sets it", `${headerPrefix.toLowerCase()}-`]];
  const isMeant = (refused: string) =>
    refused.endsWith("-") ? foldedName(name).startsWith(refused) : foldedName(name) === refused;
  const [reason] = [...REFUSED, ...own].find(([, names]) => names.split(" ").some(isMeant)) ?? [];
  return reason === undefined ? null : fault("reserved", `This header can't be an endpoint's own: ${reason}.`);
}

export function headerValueFault(value: string): Fault | null {
  if (value === "") return fault("blank", "This header has no value: give one, or leave the header out.");
  if (VALUE.test(value)) return null;
  return fault(
    "value_malformed",
    "A value has visible ASCII characters only, with spaces and tabs between them and none at its ends.",
  );
}
