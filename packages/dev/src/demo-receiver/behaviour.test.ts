import { expect, test } from "@jest/globals";
import { behaviourOf, politeBehaviour, withChanges } from "./behaviour.ts";

const of = (path: string, standing = politeBehaviour) => behaviourOf(new URL(path, "https://127.0.0.1"), standing);

test("a plain URL gets what stands for all", () => {
  expect(of("/hooks")).toEqual({ mode: "answer", status: 200, delayMs: 0, failTimes: 0 });
  expect(of("/hooks", { ...politeBehaviour, status: 500 })).toMatchObject({ status: 500 });
});

test("a URL says how its deliveries are treated", () => {
  expect(of("/hooks?status=500&delayMs=2000")).toEqual({ mode: "answer", status: 500, delayMs: 2000, failTimes: 0 });
  expect(of("/hooks?failTimes=2")).toMatchObject({ failTimes: 2 });
  expect(of("/hooks/hang")).toMatchObject({ mode: "hang" });
  expect(of("/hooks/cut?delayMs=10")).toMatchObject({ mode: "cut", delayMs: 10 });
});

test("what a URL says wins over what stands for all", () => {
  const standing = { ...politeBehaviour, status: 500, delayMs: 50 };
  expect(of("/hooks?status=204", standing)).toMatchObject({ status: 204, delayMs: 50 });
});

test.each(["status=99", "status=600", "status=abc", "status=", "delayMs=-1", "delayMs=1.5", "failTimes=101"])(
  "%s is refused by name",
  (query) => {
    expect(() => of(`/hooks?${query}`)).toThrow(new RegExp(`^${query.split("=")[0]} must be`));
  },
);

test("the operator's changes are checked alike", () => {
  expect(withChanges(politeBehaviour, { mode: "hang", unknown: 1 })).toEqual({ ...politeBehaviour, mode: "hang" });
  expect(() => withChanges(politeBehaviour, { mode: "sulk" })).toThrow(/mode must be one of/);
  expect(() => withChanges(politeBehaviour, { status: "500" })).toThrow(/status must be/);
});
