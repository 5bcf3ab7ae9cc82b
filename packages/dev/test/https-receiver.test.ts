import { request } from "node:https";
import { afterEach, expect, test } from "@jest/globals";
import { certificates } from "../src/harness/certificates.ts";
import { type HttpsReceiver, type HttpsReceiverOptions, httpsReceiver } from "../src/harness/https-receiver.ts";

let receiver: HttpsReceiver | undefined;

afterEach(async () => {
  await receiver?.close();
});

async function listen(options: HttpsReceiverOptions = {}): Promise<HttpsReceiver> {
  receiver = await httpsReceiver(options);
  return receiver;
}

async function post(url: string, body: string, timeoutMs = 5_000): Promise<number> {
  const { caPem } = await certificates();
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", ca: caPem, agent: false, timeout: timeoutMs }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0));
    });
    sent.once("timeout", () => sent.destroy(new Error("timed out")));
    sent.once("error", reject);
    sent.end(body);
  });
}

test.each(["127.0.0.1", "localhost", "[::1]"] as const)(
  "a trusted receiver at %s records what it gets",
  async (host) => {
    const { url, requests } = await listen({ host });
    expect(await post(`${url}/hooks?a=1`, "grüß")).toBe(200);
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ method: "POST", path: "/hooks?a=1", body: Buffer.from("grüß"), connection: 1 });
  },
);

test("answers follow the script", async () => {
  const { url, answerWith } = await listen();
  answerWith((_request, index) => ({ status: index === 0 ? 500 : 204 }));
  expect([await post(url, "1"), await post(url, "2")]).toEqual([500, 204]);
});

test("faults look like faults to the sender", async () => {
  const { url, answerWith, received } = await listen();
  answerWith({ fault: "reset" });
  await expect(post(url, "")).rejects.toThrow(/ECONNRESET/);
  answerWith({ fault: "hang" });
  await expect(post(url, "", 100)).rejects.toThrow("timed out");
  expect(await received(2)).toHaveLength(2);
});

test.each([
  ["expired", "CERT_HAS_EXPIRED"],
  ["notYetValid", "CERT_NOT_YET_VALID"],
  ["wrongName", "ERR_TLS_CERT_ALTNAME_INVALID"],
  ["selfSigned", "DEPTH_ZERO_SELF_SIGNED_CERT"],
] as const)("the %s certificate is refused with %s", async (kind, code) => {
  const { url, requests } = await listen({ certificate: (await certificates())[kind] });
  await expect(post(url, "")).rejects.toMatchObject({ code });
  expect(requests).toEqual([]);
});
