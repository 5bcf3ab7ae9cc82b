import { NotSentError } from "@herald/amqp";
import type { RejectedEvent } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { anEvent } from "../test/given.ts";
import { newEvent } from "./emitted-event.ts";
import { eventJson, InvalidEventError } from "./encode-event.ts";
import { recordingEmitter, recordingOutbox } from "./testing.ts";

test("a recording emitter keeps what was emitted, as the broker would have got it", async () => {
  const emitter = recordingEmitter();
  const [first, second] = [anEvent(), anEvent()];
  await emitter.emit({ ...first, data: { at: new Date(0) } }, { traceparent: "00-t" });
  await emitter.emitJson(JSON.stringify(second));
  expect(emitter.emitted).toEqual([
    { event: { ...first, data: { at: "1970-01-01T00:00:00.000Z" } }, traceparent: "00-t" },
    { event: second },
  ]);
  emitter.clear();
  expect(emitter.emitted).toEqual([]);
});

test("a recording emitter refuses what the real one refuses, with the same error", async () => {
  const emitter = recordingEmitter();
  await expect(emitter.emit({ ...anEvent(), entityId: "7" })).rejects.toThrow(InvalidEventError);
  await expect(emitter.emitJson("{}")).rejects.toThrow("organizationId must be 1 to 128 characters");
  expect(emitter.emitted).toEqual([]);
});

test("a recording emitter fails once if the test wants it, and always when it is closed", async () => {
  const emitter = recordingEmitter();
  emitter.failNext();
  await expect(emitter.emit(anEvent())).rejects.toThrow(NotSentError);
  await emitter.emit(anEvent());
  expect(emitter.isReady()).toBe(true);
  await emitter.close();
  expect(emitter.isReady()).toBe(false);
  await expect(emitter.emit(anEvent())).rejects.toMatchObject({ reason: "closed" });
  expect(emitter.emitted).toHaveLength(1);
});

test("a recording emitter calls the handlers of rejected events with what a test gives, until they are closed", async () => {
  const emitter = recordingEmitter();
  const notices: RejectedEvent[] = [];
  const rejections = emitter.onRejected((rejection) => void notices.push(rejection), { queue: "product.rejected" });
  const { id } = anEvent();
  await emitter.reject({ eventId: id, reason: "/entityId must be a UUID" });
  expect(notices).toMatchObject([{ type: "event.rejected", eventId: id, reason: "/entityId must be a UUID" }]);
  await rejections.close();
  expect(rejections.isReady()).toBe(false);
  await emitter.reject();
  expect(notices).toHaveLength(1);
});

test("a recording emitter says what a handler of rejected events throws, and has none when it is closed", async () => {
  const emitter = recordingEmitter();
  emitter.onRejected(() => Promise.reject(new Error("no mail server")), { queue: "product.rejected" });
  await expect(emitter.reject()).rejects.toThrow("no mail server");
  await emitter.close();
  await emitter.reject();
  expect(() => emitter.onRejected(() => {}, { queue: "product.rejected" })).toThrow("closed");
});

test("a recording emitter refuses a type that Herald would not deliver, unless the test names it", async () => {
  const misspelt = newEvent({ ...anEvent(), type: "WorkItemCompletd" }, { undelivered: true });
  await expect(recordingEmitter().emit(misspelt)).rejects.toThrow(
    'type is "WorkItemCompletd", which Herald does not deliver',
  );
  await expect(recordingEmitter().emitJson(JSON.stringify(misspelt))).rejects.toThrow(InvalidEventError);
  const own = recordingEmitter({ types: ["WorkItemCompletd"] });
  await own.emit(misspelt);
  expect(own.emitted).toEqual([{ event: misspelt }]);
  await expect(own.emit(anEvent())).rejects.toThrow("It may be one of WorkItemCompletd");
});

test("a recording outbox keeps what was added, and what a service inserted itself, and judges as a relay", async () => {
  const outbox = recordingOutbox();
  const [first, second] = [anEvent(), anEvent()];
  await outbox.add({ query: async () => expect("a statement").toBe("none") }, first, { traceparent: "00-t" });
  outbox.addJson(eventJson(second));
  expect(outbox.added).toEqual([{ event: first, traceparent: "00-t" }, { event: second }]);
  expect(() => outbox.addJson(JSON.stringify({ ...first, entityId: "4711" }))).toThrow("entityId must be a UUID");
  expect(() => outbox.addJson(JSON.stringify({ ...first, type: "Completed" }))).toThrow(InvalidEventError);
  await expect(outbox.add({ query: async () => {} }, { ...first, type: "Completed" })).rejects.toThrow(
    InvalidEventError,
  );
  expect(outbox.added).toHaveLength(2);
  outbox.clear();
  expect(outbox.added).toEqual([]);
});
