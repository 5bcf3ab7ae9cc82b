import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

// The built service, as a process.
const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

test("a configuration that can't be used ends the start with 78, and names every problem", async () => {
  const child = spawn(process.execPath, [MAIN], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: "postgresql://127.0.0.1:1/none",
      AMQP_URL: "amqp://127.0.0.1:1",
      AUTH_JWT_SECRET: "",
      SECRET_KEYS: "",
      PORT: "many",
      BASE_PATH: "no-slash",
    },
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
  }
  expect(await once(child, "close")).toEqual([78, null]);
  for (const name of ["SECRET_KEYS", "PORT", "BASE_PATH"]) expect(printed).toContain(name);
});
