import { createHook } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@herald/common/runtime/clock";
import type { Resolve } from "@herald/common/security/address-guard";
import { addressRules } from "@herald/common/security/address-guard";
import { TlsFiles } from "@herald/common/security/tls-files";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { afterAll } from "@jest/globals";
import { createEgressProxy } from "../../src/http/egress-proxy.ts";
import { type AttemptRequest, createSender, type Sender, type SenderOptions } from "../../src/http/sender.ts";
import type { AttemptResult } from "../../src/sql/rows.ts";
import { type ConnectProxy, connectProxy } from "./receivers.ts";

export const SECRET = Buffer.alloc(32, 7).toString("base64");
export const NOW = new Date("2026-11-20T12:00:00.900Z");
/** For what must not end in time. */
export const SHORT_DEADLINE_MS = 400;

const folder = mkdtempSync(join(tmpdir(), "herald-authorities-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A file of authorities, which is read again at each `nowMs` that is a minute later. */
export function authoritiesIn(pem: string, nowMs?: () => number): TlsFiles & { write(pem: string): void } {
  const file = join(folder, randomUUID());
  const write = (text: string) => writeFileSync(file, text);
  write(pem);
  return Object.assign(new TlsFiles([{ use: "ca", setting: "EXTRA_CA_FILE", file }], { nowMs }), { write });
}

/** The authority that senders of a test file trust, and a certificate by it. */
export const authority = await makeAuthority("Test authority");
export const extraAuthorities = authoritiesIn(authority.cert);
export const tls = await authority.issue({ names: ["receiver.test"] });

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

export interface TestSenderOptions extends Partial<SenderOptions> {
  /** By default its time is always {@link NOW}. */
  clock?: Clock;
}

export interface TestSender extends Pick<Sender, "close"> {
  send(request: AttemptRequest): Promise<AttemptResult>;
}

export function sender({
  clock = { now: () => NOW, monotonicMs: () => performance.now() },
  ...overrides
}: TestSenderOptions = {}): TestSender {
  const addresses = addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.1" });
  const { send, close } = createSender({ addresses, resolve: toLoopback, ...overrides });
  return { send: (request) => send(request, clock), close };
}

/** How attempts leave: every table of hostile answers and addresses is tried in each. */
export const WAYS = ["straight", "through a proxy"] as const;

let proxy: ConnectProxy | undefined;
afterAll(async () => await proxy?.close());

/** The proxy of this file's {@link through}. */
export async function theProxy(): Promise<ConnectProxy> {
  proxy ??= await connectProxy();
  return proxy;
}

/** A sender of one of the ways. */
export async function through(way: (typeof WAYS)[number], overrides: TestSenderOptions = {}): Promise<TestSender> {
  if (way === "straight") return sender(overrides);
  const proxy = createEgressProxy(`http://127.0.0.1:${(await theProxy()).port}`);
  // A short deadline is for the receiver: a busy machine's proxy may need longer than its part of that.
  return sender({ ...overrides, proxy: { ...proxy, open: (target, guard) => proxy.open(target, guard, 60_000) } });
}

/** Counts all calls of connect(2) in this process. */
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
