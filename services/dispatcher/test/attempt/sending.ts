import { createHook } from "node:async_hooks";
import { setTimeout as delay } from "node:timers/promises";
import type { Resolve } from "@herald/common/security";
import { parsePrivateNetworks } from "@herald/common/security";
import { type AttemptRequest, createSender, type Sender, type SenderOptions } from "../../src/attempt/index.ts";

export const SECRET = Buffer.alloc(32, 7).toString("base64");
export const NOW = new Date("2026-11-20T12:00:00.900Z");
/** For what must not end in time. */
export const SHORT_DEADLINE_MS = 400;

/** Every name is this machine's. */
export const toLoopback: Resolve = async () => [{ address: "127.0.0.1", family: 4 }];

export function request(overrides: Partial<AttemptRequest> = {}): AttemptRequest {
  return {
    deliveryId: "0b9bdf2e-3b5e-4f6c-9f4e-0d5a3f0d6f11",
    eventType: "WorkItemCompleted",
    url: "https://receiver.test/hooks",
    secret: SECRET,
    body: '{"id":"1"}',
    ...overrides,
  };
}

export function sender(overrides: Partial<SenderOptions> = {}): Sender {
  return createSender({
    allowedPrivateNetworks: parsePrivateNetworks("127.0.0.1"),
    resolve: toLoopback,
    clock: { now: () => NOW },
    ...overrides,
  });
}

/** Waits until the condition holds; fails after the deadline with what was waited for. */
export async function eventually(what: string, holds: () => boolean, withinMs = 5_000): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > untilMs) throw new Error(`Not within ${withinMs} ms: ${what}`);
    await delay(5);
  }
}

/** Counts calls of connect(2), whoever makes them and to wherever. */
export async function countConnects(action: () => Promise<unknown>): Promise<number> {
  let connects = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "TCPCONNECTWRAP") connects += 1;
    },
  });
  hook.enable();
  try {
    await action();
  } finally {
    hook.disable();
  }
  return connects;
}
