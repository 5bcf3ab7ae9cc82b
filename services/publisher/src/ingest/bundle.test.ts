import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { bundleEntry, type Message, unbundle } from "./bundle.ts";

const bundle = (...messages: Message[]) => Buffer.concat(messages.map(bundleEntry));

test("a bundle has the bytes and the texts among the headers of its events as they were (property)", () => {
  const message = fc.record({
    content: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    headers: fc.dictionary(fc.constantFrom("traceparent", "note", "Übermut"), fc.string()),
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
      const read = unbundle(bundle(...messages));
      expect(read.map(({ content }) => content.toString("hex"))).toEqual(
        messages.map(({ content }) => content.toString("hex")),
      );
      expect(read.map(({ headers }) => headers)).toEqual(messages.map(({ headers }) => ({ ...headers })));
    }),
  );
});

test("headers that instruct RabbitMQ do not come along", () => {
  const message = { content: Buffer.from("x"), headers: { CC: ["everywhere"], bcc: "everywhere", traceparent: "t" } };
  expect(unbundle(bundle(message))).toEqual([{ content: Buffer.from("x"), headers: { traceparent: "t" } }]);
});

test("what is no bundle is refused", () => {
  const whole = bundle({ content: Buffer.from("event"), headers: {} });
  for (let bytes = 1; bytes < whole.byteLength; bytes++) expect(() => unbundle(whole.subarray(0, bytes))).toThrow();
  expect(() => unbundle(Buffer.from('{"organizationId":"acme"}'))).toThrow();
});
