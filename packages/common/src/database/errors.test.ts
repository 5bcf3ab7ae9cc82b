import { expect, test } from "@jest/globals";
import { isConflict, isDataError } from "./errors.ts";

const ofPostgres = (originalCode: string) =>
  Object.assign(new Error("no"), { meta: { driverAdapterError: { cause: { originalCode } } } });

test.each([
  ["22P02", "an invalid value", { isData: true, isConflict: false }],
  ["23505", "a duplicate", { isData: true, isConflict: false }],
  ["23503", "a reference to what was deleted meanwhile", { isData: false, isConflict: true }],
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
