import { describe, expect, test } from "@jest/globals";
import { callHerald, runHerald } from "./run-herald.ts";

const NOWHERE = {
  DATABASE_URL: "postgresql://herald:do-not-show@127.0.0.1:1/herald",
  AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:1",
};

describe("herald", () => {
  test("without a command says what there is, and fails", async () => {
    const { code, stdout, stderr } = await runHerald([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    for (const name of ["migrate", "rotate-keys", "rejected", "lag"]) expect(stderr).toContain(`  ${name} `);
  });

  test("helps on request, with each command", async () => {
    expect(await runHerald(["--help"])).toMatchObject({ code: 0, stderr: "" });
    for (const name of ["migrate", "rotate-keys", "rejected", "lag"]) {
      const { code, stdout, stderr } = await callHerald([name, "--help"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain(`herald ${name}: `);
    }
  });

  test.each([
    ["sing"],
    ["toString"],
    ["migrate", "now"],
    ["lag", "--xml"],
    ["rejected"],
    ["rejected", "burn"],
    ["rejected", "list", "--limit", "0"],
    ["rejected", "show"],
    ["rejected", "show", "abc"],
    ["rejected", "replay"],
    ["rejected", "replay", "abcdef", "--all"],
    ["rejected", "discard"],
    ["rotate-keys", "--page-size", "many"],
  ])("takes no wrong arguments: %s %s %s %s", async (...args) => {
    const { code, stdout, stderr } = await callHerald(args, NOWHERE);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("herald");
  });

  test.each([
    [["migrate"], ["DATABASE_URL"]],
    [["lag"], ["DATABASE_URL"]],
    [["rejected", "list"], ["AMQP_URL"]],
    [["rotate-keys"], ["SECRET_KEYS"]],
  ])("%j says which settings it lacks", async (args, missing) => {
    const { code, stderr } = await callHerald(args);
    expect(code).toBe(78);
    for (const name of missing) expect(stderr).toContain(`${name} is missing`);
  });

  test("a key ring that can't be used is a configuration that can't be used, and is not shown", async () => {
    const { code, stderr } = await callHerald(["rotate-keys"], { ...NOWHERE, SECRET_KEYS: "a:do-not-show" });
    expect(code).toBe(78);
    expect(stderr).toContain("SECRET_KEYS");
    expect(stderr).not.toContain("do-not-show");
  });

  test.each([
    [["migrate"], "127.0.0.1:1"],
    [["lag"], "PostgreSQL at 127.0.0.1:1"],
    [["rejected", "list"], "RabbitMQ at 127.0.0.1:1"],
  ])("%j fails where there is nobody, and shows no password", async (args, place) => {
    const { code, stderr } = await runHerald(args, NOWHERE);
    expect(code).toBe(1);
    expect(stderr).toContain(place);
    expect(stderr).not.toContain("do-not-show");
  });
});
