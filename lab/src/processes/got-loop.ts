import { Agent } from "node:https";
import { answerParent } from "@herald/e2e/child";
import got from "got";

/** A loop of got requests with nothing around it: what the dispatcher could do if all but sending were free. */
export interface GotLoopRequest {
  url: string;
  ca: string;
  /** Requests in flight. */
  concurrency: number;
  seconds: number;
  body: string;
}

export interface GotLoopResult {
  perSecond: number;
  cpuMicroseconds: number;
}

answerParent<GotLoopRequest>(async ({ url, ca, concurrency, seconds, body }) => {
  const agent = new Agent({ keepAlive: true, ca });
  const client = got.extend({
    agent: { https: agent },
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    decompress: false,
    headers: { "content-type": "application/json; charset=utf-8" },
  });
  const post = () =>
    new Promise<void>((resolve, reject) => {
      const stream = client.stream.post(url, { body });
      stream.on("error", reject);
      stream.on("end", resolve);
      stream.resume();
    });
  // Connections are opened before the clock starts.
  await Promise.all(Array.from({ length: concurrency }, post));
  let count = 0;
  const cpuBefore = process.cpuUsage();
  const begun = performance.now();
  const end = begun + seconds * 1_000;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < end) {
        await post();
        count += 1;
      }
    }),
  );
  const elapsedSeconds = (performance.now() - begun) / 1_000;
  const cpu = process.cpuUsage(cpuBefore);
  agent.destroy();
  return {
    perSecond: count / elapsedSeconds,
    cpuMicroseconds: (cpu.user + cpu.system) / count,
  } satisfies GotLoopResult;
});
