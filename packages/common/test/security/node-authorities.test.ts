import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { eventually } from "@herald/dev/harness/eventually";
import { loggingChild, program } from "@herald/dev/harness/logging-child";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";

/** Asks a server again and again, as the management API asks an identity provider. */
const ASK = `
import { setTimeout as sleep } from "node:timers/promises";
import { nodeAuthorities } from "@herald/common/security/node-authorities";
for (;;) {
  const answer = await fetch(process.env.SERVER).then((response) => response.text(), ({ cause }) => {
    nodeAuthorities.failed(cause);
    return cause.code;
  });
  console.log(JSON.stringify({ answer }));
  await sleep(100);
}
`;

test("NODE_EXTRA_CA_CERTS, which Node reads at its start only, is read again for the servers that no file of their own is for", async () => {
  const [old, next] = [await makeAuthority("Old"), await makeAuthority("Next")];
  const folder = mkdtempSync(join(tmpdir(), "herald-node-authorities-"));
  const NODE_EXTRA_CA_CERTS = join(folder, "extra.pem");
  writeFileSync(NODE_EXTRA_CA_CERTS, old.cert);
  const server = createServer(await next.issue({ names: ["localhost"] }), (_request, response) =>
    response.setHeader("connection", "close").end("welcome"),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { lines, kill } = loggingChild(program(ASK), {
    cwd: join(projectFolder(), "packages/common"),
    env: { SERVER: `https://localhost:${(server.address() as AddressInfo).port}`, NODE_EXTRA_CA_CERTS },
  });
  try {
    await eventually(() => expect(lines()).toContainEqual({ answer: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }));
    writeFileSync(NODE_EXTRA_CA_CERTS, next.cert);
    await eventually(() => expect(lines()).toContainEqual({ answer: "welcome" }));
  } finally {
    kill();
    server.close();
    rmSync(folder, { recursive: true });
  }
});
