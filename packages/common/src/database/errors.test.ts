import { expect, test } from "@jest/globals";
import { isConflict, isDatabaseOutage, isDataError, isPartitionMissing, isTooMuch } from "./errors.ts";

const ofPostgres = (originalCode: string) =>
  Object.assign(new Error("no"), { meta: { driverAdapterError: { cause: { originalCode } } } });

test.each([
  ["22P02", "an invalid value", { isData: true, isConflict: false }],
  ["23505", "a duplicate", { isData: true, isConflict: false }],
  ["23503", "a reference to what was deleted meanwhile", { isData: false, isConflict: true }],
  ["23514", "a row that has no partition", { isData: false, isConflict: false }],
  ["40P01", "a deadlock", { isData: false, isConflict: true }],
  ["40001", "a serialization failure", { isData: false, isConflict: true }],
  ["57P01", "a shutdown", { isData: false, isConflict: false }],
])("%s is %s: %j", (code, _what, expected) => {
  const error = ofPostgres(code);
  expect({ isData: isDataError(error), isConflict: isConflict(error) }).toEqual(expected);
});

test.each([new Error("connection refused"), {}, "text"])("%p is neither", (error) => {
  expect([isDataError(error), isConflict(error)]).toEqual([false, false]);
});

test.each([
  ["57014", "a statement that ran out of time", true],
  ["55P03", "a lock that was waited for too long", true],
  ["40P01", "a deadlock", true],
  ["40001", "a serialization failure", false],
  ["22P02", "an invalid value", false],
])("%s, %s, is a matter of size: %j", (code, _what, expected) => {
  expect(isTooMuch(ofPostgres(code))).toBe(expected);
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
