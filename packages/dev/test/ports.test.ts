import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { projectFolder } from "../src/stack/folders.ts";
import { freePort } from "../src/stack/ports.ts";

test("a port that another process was given is not given again before that process ends, though nothing listens there yet", async () => {
  const ports = join(projectFolder(), "packages", "dev", "dist", "stack", "ports.js");
  const first = await freePort();
  const script = `const { freePort } = await import(${JSON.stringify(ports)});
    console.log(await freePort(${first + 1}));
    process.stdin.resume();`;
  const other = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [given] = (await once(other.stdout, "data")) as [Buffer];
  const port = Number(given.toString());
  expect(await freePort(port)).not.toBe(port);
  other.stdin.end();
  await once(other, "close");
});
