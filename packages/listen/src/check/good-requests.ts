import { randomUUID } from "node:crypto";
import { LARGEST_EVENT_BYTES } from "../exchange.ts";
import { accepts, advice, type Check, eventOf } from "./check.ts";
import { withNames } from "./request-maker.ts";

/** A minute within the 300 s, so that a slow machine and a slow request change no verdict. */
const IN_TIME_SECONDS = 240;

export const GOOD_REQUESTS: readonly Check[] = [
  {
    id: "good",
    title: "accepts a signed event",
    advice: `Compare the URL and the secret with your receiver's. ${advice.bytes} ${advice.key}`,
    steps: accepts((make) => make.signed()),
  },
  {
    id: "good_old",
    title: "accepts a request that was signed four minutes ago",
    advice: advice.clock,
    steps: accepts((make) => make.signed({ timestamp: String(make.now - IN_TIME_SECONDS) })),
  },
  {
    id: "good_ahead",
    title: "accepts a request that was signed four minutes ahead",
    advice: advice.clock,
    steps: accepts((make) => make.signed({ timestamp: String(make.now + IN_TIME_SECONDS) })),
  },
  {
    id: "good_text",
    title: "accepts text beyond ASCII",
    advice: advice.bytes,
    steps: accepts((make) => make.signed({ body: make.event({ data: { changes: {}, note: "Größe 漢字 🚀" } }) })),
  },
  {
    id: "good_spacing",
    title: "accepts JSON that a parser would write in another way",
    advice: advice.bytes,
    steps: accepts((make) => {
      const text = Buffer.from(make.event()).toString();
      return make.signed({
        body: Buffer.from(` ${text.slice(0, -1)} ,\r\n "note" : "\\u00e9\\/" , "amount": 1.0 }\n`),
      });
    }),
  },
  {
    id: "good_more_fields",
    title: "accepts fields that it does not know",
    advice: "Check the fields that you need, and ignore others: Herald may add some.",
    steps: accepts((make) =>
      make.signed({ body: make.event({ schemaVersion: 2, data: { changes: {}, more: [1, { deep: true }] } }) }),
    ),
  },
  {
    id: "good_other_types",
    title: "accepts events of other types",
    advice: advice.type,
    steps: (make) => make.otherTypes.map((type) => ({ send: make.signed({ type }), expect: "accept" })),
  },
  {
    id: "type_of_header",
    title: "takes the type from the verified body",
    advice:
      "Read the type in the body: the event header is not signed. Where they differ, use the body's, or answer 4xx.",
    steps: (make) => {
      const eventId = randomUUID();
      const [headerType = ""] = make.otherTypes;
      return [
        {
          send: make.signed({ eventId, headerType }),
          expect: "answer",
          ask: `Event ${eventId} came as ${make.type} in its signed body and as ${headerType} in the unsigned header. Was it refused, or taken for ${make.type}?`,
        },
      ];
    },
  },
  {
    id: "good_header_case",
    title: "accepts header names in any case",
    advice: "Compare header names without case: proxies and HTTP/2 write them in lower case.",
    steps: (make) => [
      { send: withNames(make.signed(), (name) => name.toLowerCase()), expect: "accept" },
      { send: withNames(make.signed(), (name) => name.toUpperCase()), expect: "accept" },
    ],
  },
  {
    id: "good_large",
    title: "accepts an event of 256 KiB",
    advice: "Let the limit of the body be 256 KiB at least: a manual payload may be as large.",
    steps: accepts((make) => make.signed({ body: eventOf(make, LARGEST_EVENT_BYTES) })),
  },
  {
    id: "duplicate",
    title: "answers a duplicate with success",
    advice: advice.duplicate,
    steps: (make) => {
      const same = { eventId: randomUUID(), deliveryId: randomUUID() };
      return [
        { send: make.signed({ ...same, timestamp: String(make.now - 60) }), expect: "accept" },
        { send: make.signed(same), expect: "accept" },
      ];
    },
  },
  {
    id: "duplicate_resent",
    title: "answers an event that is sent again under another delivery id with success",
    advice: advice.duplicate,
    steps: (make) => {
      const eventId = randomUUID();
      return [
        { send: make.signed({ eventId }), expect: "accept" },
        {
          send: make.signed({ eventId }),
          expect: "accept",
          ask: `Event ${eventId} came twice, under two delivery ids. Did it take effect once?`,
        },
      ];
    },
  },
  {
    id: "delivery_id_again",
    title: "accepts two events under one delivery id",
    advice: "Know an event by the id in its verified body: the delivery id is not signed.",
    steps: (make) => {
      const [first, second, deliveryId] = [randomUUID(), randomUUID(), randomUUID()];
      return [
        { send: make.signed({ eventId: first, deliveryId }), expect: "accept" },
        {
          send: make.signed({ eventId: second, deliveryId }),
          expect: "accept",
          ask: `Events ${first} and ${second} came under one delivery id. Did both take effect?`,
        },
      ];
    },
  },
  {
    id: "duplicate_at_once",
    title: "answers duplicates that come at the same time with success",
    advice: `${advice.duplicate} Let the database decide which came first, by a unique key.`,
    atOnce: true,
    steps: (make) => {
      const same = { eventId: randomUUID(), deliveryId: randomUUID() };
      return [1, 2, 3].map(() => ({ send: make.signed(same), expect: "accept" as const }));
    },
  },
];
