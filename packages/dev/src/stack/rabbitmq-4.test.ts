import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import { findOrUnpackRabbitmq4, findRabbitmq4 } from "./rabbitmq-4.ts";

const { HERALD_LOCAL_FOLDER, PATH } = process.env;
const folder = mkdtempSync(join(tmpdir(), "herald-rabbitmq-4-"));
afterEach(() => {
  Object.assign(process.env, { PATH });
  if (HERALD_LOCAL_FOLDER === undefined) delete process.env.HERALD_LOCAL_FOLDER;
  else process.env.HERALD_LOCAL_FOLDER = HERALD_LOCAL_FOLDER;
  rmSync(folder, { recursive: true, force: true });
});

test("where RabbitMQ 4 can't be unpacked, the error says what is missing and what to do, and nothing is left", async () => {
  Object.assign(process.env, { HERALD_LOCAL_FOLDER: folder, PATH: folder });
  await expect(findOrUnpackRabbitmq4()).rejects.toThrow(/There is no apt-get\.\n.*on Debian 12 or newer.*AMQP_URL/);
  expect(findRabbitmq4()).toBeUndefined();
});
