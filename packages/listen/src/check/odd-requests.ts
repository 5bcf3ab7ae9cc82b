import { advice, type Check, eventOf, OVERSIZED_BYTES, one, refuses, survives } from "./check.ts";
import { withoutLength } from "./request-maker.ts";

/** Requests that any server may get: too large, by another method, broken. None of them may harm the receiver. */
export const ODD_REQUESTS: readonly Check[] = [
  {
    id: "oversized",
    title: "refuses a signed body of 8 MiB",
    advice: advice.size,
    steps: one("refuse_or_close", (make) => make.signed({ body: eventOf(make, OVERSIZED_BYTES) })),
  },
  {
    id: "oversized_without_length",
    title: "refuses a signed body of 8 MiB that does not tell its length",
    advice: advice.size,
    steps: one("refuse_or_close", (make) => withoutLength(make.signed({ body: eventOf(make, OVERSIZED_BYTES) }))),
  },
  {
    id: "method_get",
    title: "refuses a signed GET",
    advice: advice.method,
    steps: refuses((make) => make.signed({ method: "GET" })),
  },
  {
    id: "method_put",
    title: "refuses a signed PUT",
    advice: advice.method,
    steps: refuses((make) => make.signed({ method: "PUT" })),
  },

  {
    id: "no_json",
    title: "survives a signed body that is not JSON",
    advice: advice.survive,
    steps: survives((make) => ({ send: make.signed({ body: Buffer.from('{"id":') }), expect: "answer" })),
  },
  {
    id: "no_text",
    title: "survives a signed body that is not UTF-8",
    advice: advice.survive,
    steps: survives((make) => ({ send: make.signed({ body: Buffer.from([0xff, 0x00, 0xfe]) }), expect: "answer" })),
  },
  {
    id: "no_body",
    title: "survives a signed body of no bytes",
    advice: advice.survive,
    steps: survives((make) => ({ send: make.signed({ body: new Uint8Array() }), expect: "answer" })),
  },
  {
    id: "no_event",
    title: "survives signed JSON that is no event",
    advice: `${advice.survive} An admin may send any JSON by hand.`,
    steps: (make) => [
      ...["null", "[]", '"text"', '{"type":7,"data":null}'].map((text) => ({
        send: make.signed({ body: Buffer.from(text) }),
        expect: "answer" as const,
      })),
      { send: make.signed(), expect: "accept" },
    ],
  },
  {
    id: "deep_json",
    title: "survives signed JSON that is nested 10,000 deep",
    advice: advice.survive,
    steps: survives((make) => ({
      send: make.signed({ body: Buffer.from("[".repeat(10_000) + "]".repeat(10_000)) }),
      expect: "answer",
    })),
  },
  {
    id: "cut_off",
    title: "survives a request that is cut off in its body",
    advice: "Handle a connection that ends in the middle: it must not end the program.",
    steps: survives(() => ({
      send: {
        raw: ({ pathname, search, host }) =>
          `POST ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 100\r\n\r\n{`,
      },
      expect: "nothing",
    })),
  },
  {
    id: "no_http",
    title: "survives bytes that are no HTTP",
    advice: "Handle errors of the connection: they must not end the program.",
    steps: survives(() => ({ send: { raw: () => "\u0000\u0001 no request at all\r\n\r\n" }, expect: "nothing" })),
  },
];
