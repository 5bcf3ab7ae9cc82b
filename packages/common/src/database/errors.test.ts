import { expect, test } from "@jest/globals";
import pg from "pg";
import { type DatabaseInfo, versionFault } from "./database-info.ts";
import { isConflict, isDatabaseOutage, isDataError, isPartitionMissing, isTooMuch } from "./errors.ts";
import { createRefusals } from "./refusals.ts";

const ofPostgres = (originalCode: string) =>
  Object.assign(new Error("no"), { meta: { driverAdapterError: { cause: { originalCode } } } });

/** The kinds of errors that an error is one of. */
const mattersOf = (error: unknown) =>
  Object.entries({ data: isDataError, conflict: isConflict, size: isTooMuch })
    .filter(([, isOne]) => isOne(error))
    .map(([name]) => name);

test.each([
  ["22P02", "an invalid value", ["data"]],
  ["23505", "a duplicate", ["data"]],
  ["23503", "a reference to what was deleted meanwhile", ["conflict"]],
  ["23514", "a row that has no partition", []],
  ["40P01", "a deadlock", ["conflict", "size"]],
  ["40001", "a serialization failure", ["conflict"]],
  ["57014", "a statement that ran out of time", ["size"]],
  ["55P03", "a lock that was waited for too long", ["size"]],
  ["57P01", "a shutdown", []],
])("%s, %s, is a matter of: %j", (code, _what, matters) => {
  expect(mattersOf(ofPostgres(code))).toEqual(matters);
});

test.each([new Error("connection refused"), {}, "text"])("%p is none of them", (error) => {
  expect(mattersOf(error)).toEqual([]);
});

test("a server that takes no writes is away: after a fail-over it is a standby, or about to be promoted", () => {
  expect(isDatabaseOutage(ofPostgres("25006"))).toBe(true);
  expect(isDatabaseOutage(ofPostgres("25P02"))).toBe(false);
});

test("a server that has no partition for a row can't take it now", () => {
  expect(isDatabaseOutage(ofPostgres("23514"))).toBe(true);
  expect(isPartitionMissing(ofPostgres("23514"))).toBe(true);
  expect(isPartitionMissing(ofPostgres("23505"))).toBe(false);
});

test("a server whose certificate does not pass the check is away, directly and through Prisma", () => {
  const code = "SELF_SIGNED_CERT_IN_CHAIN";
  expect(isDatabaseOutage(Object.assign(new Error("no"), { code }))).toBe(true);
  const cause = { kind: "TlsConnectionError" };
  expect(isDatabaseOutage(Object.assign(new Error("no"), { meta: { driverAdapterError: { cause } } }))).toBe(true);
  expect(isDatabaseOutage(new Error("no"))).toBe(false);
});

const refusal = new pg.DatabaseError("sorry, too many clients already", 0, "error");

test("PostgreSQL refuses connections until some have been opened for five seconds without a refusal, or nobody tries for a minute", () => {
  let nowMs = 0;
  const refusals = createRefusals(() => nowMs);
  const at = (ms: number) => {
    nowMs = ms;
    return refusals.latest();
  };
  expect(at(0)).toBeUndefined();
  refusals.failed(new Error("connect ECONNREFUSED"));
  expect(at(0)).toBeUndefined();
  refusals.failed(refusal);
  refusals.connected();
  expect(at(4_999)).toBe(refusal);
  refusals.failed(refusal);
  expect(at(5_000)).toBe(refusal);
  expect(at(60_000)).toBe(refusal);
  refusals.connected();
  expect(at(60_000)).toBeUndefined();
  refusals.failed(refusal);
  expect(at(119_999)).toBe(refusal);
  expect(at(120_000)).toBeUndefined();
});

test("a server that is too old is refused, with its version and the reason; the oldest supported one and newer ones pass", () => {
  const { what } = versionFault({ version: 140_020, versionText: "14.20" } as DatabaseInfo) ?? {};
  expect(what).toMatch(/PostgreSQL 14\.20; Herald needs 15 or newer/);
  expect(versionFault({ version: 150_000, versionText: "15.0" } as DatabaseInfo)).toBeUndefined();
  expect(versionFault({ version: 190_001, versionText: "19.1" } as DatabaseInfo)).toBeUndefined();
});
