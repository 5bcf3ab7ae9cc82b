import { NotSentError } from "@herald/amqp";
import { expect, test } from "@jest/globals";
import { newEvent } from "./emitted-event.ts";
import { InvalidEventError } from "./errors.ts";
import { recordingEmitter } from "./testing.ts";

const anEvent = () =>
  newEvent({
    organizationId: "acme",
    type: "RiskCreated",
    entityType: "Risk",
    entityId: "b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10",
  });

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

test("a recording emitter fails once where the test wants it, and always when it is closed", async () => {
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
