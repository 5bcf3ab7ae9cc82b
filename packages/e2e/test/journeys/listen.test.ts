import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { projectFolder } from "@herald/dev/stack/folders";
import { freePort } from "@herald/dev/stack/ports";
import { localCertificate } from "@herald/listen";
import { afterAll, expect, test } from "@jest/globals";
import { adminToken } from "../../src/herald/api-client.ts";
import { useTestEnvironment } from "./test-environment.ts";

/** The home of a developer, in which a local Herald has made the listener's certificate, and trusts it. */
const home = mkdtempSync(join(tmpdir(), "herald-home-"));
const trusted = join(home, "trusted.pem");
writeFileSync(trusted, (await localCertificate(home)).cert);
afterAll(() => rmSync(home, { recursive: true }));
const t = useTestEnvironment({ settings: { EXTRA_CA_FILE: trusted } });

/** A developer's program, which verifies with WEBHOOK_SECRET, must not see the token, and says what it got. */
const PROGRAM = `
  const { createHmac } = require("node:crypto");
  require("node:http").createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const hmac = createHmac("sha256", process.env.WEBHOOK_SECRET).update(request.headers["x-service-timestamp"] + ".").update(body);
    const verified = request.headers["x-service-signature"] === "sha256=" + hmac.digest("hex");
    console.log("program:", verified, JSON.parse(body).id, process.env.HERALD_TOKEN);
    response.writeHead(verified ? 204 : 401).end();
  }).listen(process.env.PORT, "127.0.0.1", () => console.log("program is ready"));`;

test("herald-listen --herald starts the developer's program, has events sent to it, and deletes the endpoint at the end", async () => {
  const bin = join(projectFolder(), "packages/listen/bin/herald-listen.js");
  const port = String(await freePort(3000));
  const given = [
    "--herald",
    t.herald.apiUrl,
    "--url",
    `http://127.0.0.1:${port}/`,
    "--",
    process.execPath,
    "-e",
    PROGRAM,
  ];
  const env = { ...process.env, HOME: home, PORT: port, HERALD_TOKEN: await adminToken(t.api.organizationId) };
  const listener = spawn(process.execPath, [bin, ...given], { env });
  let said = "";
  for (const stream of [listener.stdout, listener.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      said += chunk;
    });
  }
  try {
    await eventually(() => expect(said).toContain("program is ready"));
    const event = t.event();
    await t.emitter.emit(event);
    await eventually(() => expect(said).toMatch(/verified, signed .* -> 204 by /));
    expect(said).toContain(`program: true ${event.id} undefined`);
    expect(said).not.toContain("WEBHOOK_SECRET=");
    expect(await t.api.list()).toHaveLength(1);
    listener.kill("SIGTERM");
    expect(await once(listener, "close")).toEqual([0, null]);
    expect(await t.api.list()).toEqual([]);
  } finally {
    listener.kill("SIGKILL");
  }
});
