import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, expect, test } from "@jest/globals";
import { freePort } from "./ports.ts";

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function occupy(port: number, host: string): Promise<Server> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
  return server;
}

test("a free port is taken as preferred, and not twice", async () => {
  const server = await occupy(0, "127.0.0.1");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  expect(await freePort(port)).toBe(port);
  expect(await freePort(port)).toBeGreaterThan(port);
});

test.each(["127.0.0.1", "0.0.0.0"])("a port that is taken on %s is stepped around", async (host) => {
  const { port } = (await occupy(0, host)).address() as AddressInfo;
  expect(await freePort(port)).toBeGreaterThan(port);
});

test("many searches at once find different ports", async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
  expect(new Set(ports).size).toBe(20);
});
