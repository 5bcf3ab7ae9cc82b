import { advice, type Check, checksOf, eventOf, OVERSIZED_BYTES, one, refuses, survives } from "./check.ts";
import { withoutLength } from "./request-maker.ts";

/** Requests that any server may get: too large, by another method, broken. None of them may harm the receiver. */
export const ODD_REQUESTS: readonly Check[] = checksOf([
  [
    "oversized",
    "refuses a signed body of 8 MiB",
    advice.size,
    one("refuse_or_close", (make) => make.signed({ body: eventOf(make, OVERSIZED_BYTES) })),
  ],
  [
    "oversized_without_length",
    "refuses a signed body of 8 MiB that does not tell its length",
    advice.size,
    one("refuse_or_close", (make) => withoutLength(make.signed({ body: eventOf(make, OVERSIZED_BYTES) }))),
  ],
  ["method_get", "refuses a signed GET", advice.method, refuses((make) => make.signed({ method: "GET" }))],
  ["method_put", "refuses a signed PUT", advice.method, refuses((make) => make.signed({ method: "PUT" }))],

  [
    "no_json",
    "survives a signed body that is not JSON",
    advice.survive,
    survives((make) => ({ send: make.signed({ body: Buffer.from('{"id":') }), expect: "answer" })),
  ],
  [
    "no_text",
    "survives a signed body that is not UTF-8",
    advice.survive,
    survives((make) => ({ send: make.signed({ body: Buffer.from([0xff, 0x00, 0xfe]) }), expect: "answer" })),
  ],
  [
    "no_body",
    "survives a signed body of no bytes",
    advice.survive,
    survives((make) => ({ send: make.signed({ body: new Uint8Array() }), expect: "answer" })),
  ],
  [
    "no_event",
    "survives signed JSON that is no event",
    `${advice.survive} An admin may send any JSON by hand.`,
    (make) => [
      ...["null", "[]", '"text"', '{"type":7,"data":null}'].map((text) => ({
        send: make.signed({ body: Buffer.from(text) }),
        expect: "answer" as const,
      })),
      { send: make.signed(), expect: "accept" },
    ],
  ],
  [
    "deep_json",
    "survives signed JSON that is nested 10,000 deep",
    advice.survive,
    survives((make) => ({
      send: make.signed({ body: Buffer.from("[".repeat(10_000) + "]".repeat(10_000)) }),
      expect: "answer",
    })),
  ],
  [
    "cut_off",
    "survives a request that is cut off in its body",
    "Handle a connection that ends in the middle: it must not end the program.",
    survives(() => ({
      send: {
        raw: ({ pathname, search, host }) =>
          `POST ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 100\r\n\r\n{`,
      },
      expect: "nothing",
    })),
  ],
  [
    "no_http",
    "survives bytes that are no HTTP",
    "Handle errors of the connection: they must not end the program.",
    survives(() => ({ send: { raw: () => "\u0000\u0001 no request at all\r\n\r\n" }, expect: "nothing" })),
  ],
]);
