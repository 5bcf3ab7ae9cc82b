import { Resolver } from "node:dns/promises";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type NameServer, NO_ROUTE, nameServer } from "../src/harness/name-server.ts";

let server: NameServer;
let resolver: Resolver;

beforeEach(async () => {
  server = await nameServer();
  resolver = new Resolver({ timeout: 100, tries: 1 });
  resolver.setServers([server.address]);
});
afterEach(() => server.close());

describe("the name server", () => {
  test("a question gets the addresses of its kind", async () => {
    server.answerWith((name) => (name === "a.example" ? ["10.0.0.1", "2001:db8::1:2", "10.0.0.2", "::1"] : "unknown"));
    await expect(resolver.resolve4("A.example")).resolves.toEqual(["10.0.0.1", "10.0.0.2"]);
    await expect(resolver.resolve6("a.example")).resolves.toEqual(["2001:db8::1:2", "::1"]);
    await expect(resolver.resolve4("b.example")).rejects.toMatchObject({ code: "ENOTFOUND" });
    expect(server.questions).toEqual(["A a.example", "AAAA a.example", "A b.example"]);
  });

  test.each([
    ["failed", "ESERVFAIL"],
    ["refused", "EREFUSED"],
    ["unknown", "ENOTFOUND"],
    ["silence", "ETIMEOUT"],
    [[], "ENODATA"],
  ] as const)("the answer %p is %s to a client", async (answer, code) => {
    server.answerWith(answer);
    await expect(resolver.resolve4("a.example")).rejects.toMatchObject({ code });
  });

  test("a client learns that the server has died, and finds it again on the same port", async () => {
    await server.die();
    await expect(resolver.resolve4("a.example")).rejects.toMatchObject({ code: "ECONNREFUSED", syscall: "queryA" });
    await server.revive();
    await expect(resolver.resolve4("a.example")).resolves.toEqual(["127.0.0.1"]);
  });

  test("nobody can be reached at the address without a route", async () => {
    const code = new Promise((resolve) => {
      connect(443, NO_ROUTE).once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    await expect(code).resolves.toBe("ENETUNREACH");
  });
});
