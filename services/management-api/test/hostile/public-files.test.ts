import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "@jest/globals";
import { useApi } from "../support/use-api.ts";

// Files that need no token. Compressed for each request, the page's script cost 15 to 24 ms of CPU, and 40 requests a
// second made every organization's reads twenty times as slow. A length before the body says that nothing is compressed on its way.

const folder = mkdtempSync(join(tmpdir(), "herald-public-files-"));
mkdirSync(join(folder, "assets"));
writeFileSync(join(folder, "index.html"), `<!doctype html>${"<p>page</p>".repeat(500)}`);
writeFileSync(join(folder, "assets", "plain-2.js"), "console.log(2);".repeat(500));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const api = useApi({ pageFolder: folder });
const PAGE = "/administration/integrations";
const PUBLIC = [
  PAGE,
  `${PAGE}/assets/plain-2.js`,
  "/openapi.json",
  "/schemas/events/RiskCreated.json",
  "/schemas/requests/RiskCreated.json",
];

/** Gets a path, and the bytes of the answer as they came. */
function ask(path: string, headers: Record<string, string>) {
  return new Promise<{ status: number | undefined; headers: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
    get(api.origin + path, { headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () =>
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(pieces) }),
      );
    }).on("error", reject);
  });
}

describe.each(PUBLIC)("regression: %s", (path) => {
  test("is compressed once, and not for each request", async () => {
    const plain = await ask(path, {});
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync };
    for (const encoding of ["br", "gzip"] as const) {
      const { headers, body } = await ask(path, { "Accept-Encoding": encoding });
      expect(headers["content-encoding"]).toBe(encoding);
      expect(headers["content-length"]).toBe(String(body.length));
      expect(headers["transfer-encoding"]).toBeUndefined();
      expect(headers.vary).toBe("Accept-Encoding");
      expect(unpack[encoding](body).equals(plain.body)).toBe(true);
    }
    expect(plain.headers["content-encoding"]).toBeUndefined();
  });

  test("is not sent to a client that has it", async () => {
    const { headers } = await ask(path, {});
    expect(headers.etag).toMatch(/^W\//);
    const again = await ask(path, { "If-None-Match": headers.etag ?? "" });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });
});

test.each([
  ["br, gzip, deflate", "br"],
  ["br;q=0, gzip", "gzip"],
  ["deflate", undefined],
])("a client that takes %s gets an asset as %s", async (accepted, encoding) => {
  const { headers } = await ask(`${PAGE}/assets/plain-2.js`, { "Accept-Encoding": accepted });
  expect(headers["content-encoding"]).toBe(encoding);
  expect(headers["content-type"]).toBe("text/javascript; charset=utf-8");
});

test.each(["/api/organization/integration-operations/webhooks", "/nowhere", `${PAGE}/assets/none.js`])(
  "what a client without a token gets of %s is too short to be compressed",
  async (path) => {
    const { headers, body } = await ask(path, { "Accept-Encoding": "br, gzip" });
    expect(headers["content-encoding"]).toBeUndefined();
    expect(body.length).toBeLessThan(1_000);
  },
);
