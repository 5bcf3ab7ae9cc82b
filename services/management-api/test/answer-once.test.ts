import { randomUUID } from "node:crypto";
import { plansOf } from "@herald/dev/harness/plans";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { createAnswerOnce, forgetKeys, KEPT_MS, type Target } from "../src/idempotency/answer-once.ts";
import { eraseIdempotencyKeys, takeIdempotencyKey } from "../src/sql/idempotency-keys.ts";

const db = useDatabase();
const clock = steeredClock();
const request = { organizationId: "organization", key: "key", requestHash: Buffer.alloc(32, 1) };
const LOCK_MS = 60_000;

beforeEach(async () => {
  await db.database.prisma.$executeRaw`truncate idempotency_key`;
});

const once = () => createAnswerOnce({ queries: db.database.queries, clock, newId: randomUUID });

/** Work that ends when the test says so, as that of a process that dies never does. */
function hanging() {
  const { promise: begun, resolve: begin } = Promise.withResolvers<Target>();
  const { promise: ended, resolve: end } = Promise.withResolvers<unknown>();
  const work = async (target: Target) => {
    begin(target);
    return await ended;
  };
  return { work, begun, end };
}

const unexpected = async () => {
  throw new Error("The work was done.");
};

describe("a process that dies between taking a key and the answer", () => {
  test("a repetition waits for the lock of a minute, and then goes on with the same id, which may exist", async () => {
    const dead = hanging();
    const never = once()(request, dead.work);
    const { id, mayExist } = await dead.begun;
    expect(mayExist).toBe(false);
    clock.advance(LOCK_MS - 1);
    await expect(once()(request, unexpected)).rejects.toMatchObject({
      code: "idempotency_in_progress",
      facts: { headers: { "Retry-After": "1" } },
    });
    clock.advance(1);
    const answered = await once()(request, async (target) => target);
    expect(answered).toEqual({ answer: { id, mayExist: true }, isReplayed: false });
    // It was only slow: its answer comes too late to be kept, and is about the same thing.
    dead.end("late");
    expect(await never).toEqual({ answer: "late", isReplayed: false });
    expect((await once()(request, unexpected)).answer).toEqual({ id, mayExist: true });
  });

  test("if both insert, the second one learns that the first one is under way", async () => {
    const duplicate = Object.assign(new Error("duplicate"), {
      meta: { driverAdapterError: { cause: { originalCode: "23505" } } },
    });
    const failing = once()(request, async () => {
      throw duplicate;
    });
    await expect(failing).rejects.toMatchObject({ code: "idempotency_in_progress" });
  });

  test("a repetition with another request is refused during the lock and after it", async () => {
    const other = { ...request, requestHash: Buffer.alloc(32, 2) };
    const dead = hanging();
    const never = once()(request, dead.work);
    await dead.begun;
    for (const ms of [0, LOCK_MS]) {
      clock.advance(ms);
      await expect(once()(other, unexpected)).rejects.toMatchObject({ code: "idempotency_key_reused" });
    }
    dead.end(null);
    await never;
  });
});

describe("work that fails", () => {
  test("regression: a key of a process that died is free after PostgreSQL's clock was set back by an hour", async () => {
    const now = clock.now();
    const lockedUntil = new Date(now.getTime() + 3_600_000);
    const taken = { ...request, targetId: randomUUID(), now, lockedUntil, forgottenAt: new Date(0) };
    await takeIdempotencyKey(db.database.queries, taken);
    const { answer } = await once()(request, async (target) => target);
    expect(answer).toEqual({ id: taken.targetId, mayExist: true });
  });

  test("a repetition may follow at once, and has the same id", async () => {
    let failed: Target | undefined;
    const fails = once()(request, async (target) => {
      failed = target;
      throw new Error("PostgreSQL is away");
    });
    await expect(fails).rejects.toThrow("PostgreSQL is away");
    const { answer } = await once()(request, async (target) => target);
    expect(answer).toEqual({ id: failed?.id, mayExist: true });
  });
});

describe("forgetting", () => {
  const store = async (count: number, ageMs: number) => {
    const createdAt = new Date(clock.now().getTime() - ageMs);
    await db.database.prisma.$executeRaw`
      insert into idempotency_key (organization_id, key, request_hash, target_id, locked_until, created_at)
      select 'many', gen_random_uuid()::text, '', gen_random_uuid(), ${createdAt}::timestamptz, ${createdAt}::timestamptz
      from generate_series(1, ${count}::int)`;
  };
  const forget = (signal = new AbortController().signal) => forgetKeys({ queries: db.database.queries, clock }, signal);

  test("keys are erased when they are 24 hours old, in pages, and younger ones stay", async () => {
    await store(2_500, KEPT_MS);
    await store(3, KEPT_MS - 1);
    expect(await forget()).toBe(2_500);
    expect(await db.database.prisma.idempotencyKey.count()).toBe(3);
    expect(await forget()).toBe(0);
  });

  test("a service that stops erases no further page", async () => {
    await store(10, KEPT_MS);
    expect(await forget(AbortSignal.abort())).toBe(0);
  });

  test("a key is taken and erased by index, however many there are", async () => {
    await store(20_000, 0);
    await db.database.prisma.$executeRaw`analyze idempotency_key`;
    const now = clock.now();
    const take = { ...request, targetId: randomUUID(), now, lockedUntil: now, forgottenAt: new Date(0) };
    const plans = [
      await plansOf(db.database.queries, (queries) => takeIdempotencyKey(queries, take)),
      await plansOf(db.database.queries, (queries) =>
        eraseIdempotencyKeys(queries, { forgottenAt: now, pageSize: 10 }),
      ),
    ];
    for (const { custom, generic } of plans) {
      expect([...custom.wholeTables, ...generic.wholeTables]).not.toContain("idempotency_key");
    }
    expect(plans[0]?.generic.indexes).toContain("idempotency_key_pkey");
    expect(plans[1]?.generic.indexes).toContain("idempotency_key_created_at_idx");
  });
});
