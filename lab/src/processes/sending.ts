import { existsSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent as NodeAgent } from "node:https";
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, createSecureContext, type TLSSocket } from "node:tls";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { NO_OBJECT_IS_MADE_OLD } from "@herald/common/service/memory";
import { answerParent } from "@herald/e2e/child";
import { SAMPLE_BODY } from "../row.ts";
import { post, SECRET, wholly } from "./request.ts";

/** Ways to send one signed request, each with one thing more than the one before it. */
export const WAYS = ["tls", "https", "agent", "got", "exchange", "sender"] as const;
export type Way = (typeof WAYS)[number];

export type SendingRequest =
  /** `code` is the folder of the code that is measured. */
  | { type: "open"; way: Way; code: string; port: number; ca: string }
  /** Sends for so long, and answers what a request costs. */
  | { type: "measure"; seconds: number };

export interface SendingCost {
  /** CPU time, in microseconds. */
  cpu: number;
  /** Bytes that are allocated in V8's heap, by sampling. */
  bytes: number;
}

/** As many as are in flight on average at full speed. */
const IN_FLIGHT = 20;
const PATHS = 20;
const HOST = "localhost";
const ID = "0190a1b2-0000-7000-8000-0000000000ac";
const BODY = Buffer.from(SAMPLE_BODY);
const clock = { now: () => new Date(), monotonicMs: () => performance.now() };

// As the services run.
setFlagsFromString(NO_OBJECT_IS_MADE_OLD);

let send: (path: string) => Promise<unknown> = () => Promise.reject(new Error("Nothing is open."));

answerParent<SendingRequest>(async (request) => {
  if (request.type === "measure") return await measure(request.seconds);
  send = await open(request);
});

async function open({ way, code, port, ca }: Extract<SendingRequest, { type: "open" }>): Promise<typeof send> {
  const load = (file: string) => import(pathToFileURL(join(code, file)).href);
  // A baseline may be older than the folder `http`.
  const folder = ["http", "attempt"].find((name) =>
    existsSync(join(code, `services/dispatcher/src/${name}/sender.ts`)),
  );
  const dispatcher = (file: string) => load(`services/dispatcher/dist/${folder}/${file}.js`);
  const common = (file: string) => load(`packages/common/dist/security/${file}.js`);
  const { attemptHeaders } = await common("attempt-headers");
  const headersNow = (): string[] => [
    "Host",
    `${HOST}:${port}`,
    ...attemptHeaders(
      { deliveryId: ID, eventType: "WorkItemCompleted", startedAt: new Date(), body: BODY },
      { headerPrefix: "X-Service", standardWebhooks: true },
      SECRET,
    ),
  ];
  const headers = headersNow();
  const { addressRules, createAddressGuard } = await common("address-guard");
  const addresses = addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8,::1/128" });
  const extraAuthorities = { current: () => pem, failed: () => {} };
  const pem = { ca };
  const agentOfHerald = async () => {
    const { createConnections } = await dispatcher("connections");
    const { createNameResolver } = await common("name-resolver");
    return createConnections(createAddressGuard(addresses, createNameResolver()), extraAuthorities, { most: 2_000 });
  };
  const byNode = (agent: NodeAgent) => (path: string) =>
    post({ host: HOST, port, servername: HOST, path, headers, agent }, BODY);
  switch (way) {
    case "tls":
      return byTls(port, ca, headers);
    case "https": {
      const agent = new NodeAgent({ keepAlive: true, ca, ALPNProtocols: ["http/1.1"] });
      return (path) => wholly(byNode(agent)(path));
    }
    case "agent": {
      const { reused } = await agentOfHerald();
      return (path) => wholly(byNode(reused)(path));
    }
    case "got": {
      const { reused } = await agentOfHerald();
      const { client } = await dispatcher("exchange");
      return (path) => {
        const stream = client.stream(`https://${HOST}:${port}${path}`, { request: () => byNode(reused)(path) });
        stream.end();
        return wholly(Promise.resolve(stream as unknown as IncomingMessage));
      };
    }
    case "exchange": {
      const { reused: agent, offersSession } = await agentOfHerald();
      const [{ exchange }, { createTargets }] = await Promise.all([dispatcher("exchange"), dispatcher("target")]);
      const targetOf = createTargets();
      return async (path) => {
        const target = targetOf(`https://${HOST}:${port}${path}`);
        const outgoing = { target, headers, body: BODY, agent, offersSession, timeoutMs: 15_000 };
        const { answered, error } = await exchange(outgoing, clock);
        if (!answered) throw error;
      };
    }
    case "sender": {
      const { createSender } = await dispatcher("sender");
      const sender = createSender({ addresses, extraAuthorities, maxConnections: 2_000 });
      return async (path) => {
        const url = `https://${HOST}:${port}${path}`;
        const attempt = { deliveryId: ID, eventType: "WorkItemCompleted", url, secret: SECRET, body: SAMPLE_BODY };
        const { succeeded, errorSummary } = await sender.send(attempt, clock);
        if (!succeeded) throw new Error(errorSummary);
      };
    }
  }
}

/** The least that a program can do: head and body in one write, and the end of the answer's head looked for. */
function byTls(port: number, ca: string, headers: readonly string[]): typeof send {
  const secureContext = createSecureContext({ ca });
  const idle: TLSSocket[] = [];
  const pairs = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1]}\r\n`] : [])).join("");
  const opened = () =>
    new Promise<TLSSocket>((resolve, reject) => {
      const socket = connect({ host: HOST, port, servername: HOST, secureContext }, () => resolve(socket));
      socket.setNoDelay(true).once("error", reject);
    });
  return async (path) => {
    const socket = idle.pop() ?? (await opened());
    await new Promise<void>((answered, failed) => {
      socket.once("data", (chunk) =>
        chunk.includes("\r\n\r\n") ? answered() : failed(new Error("Half a head of an answer.")),
      );
      socket.write(`POST ${path} HTTP/1.1\r\n${pairs}\r\n${SAMPLE_BODY}`);
    });
    idle.push(socket);
  };
}

/** Sends without a pause: for its code to be compiled, then for its CPU time, then for its allocations. */
async function measure(seconds: number): Promise<SendingCost> {
  let done = 0;
  let isOver = false;
  const sending = Array.from({ length: IN_FLIGHT }, async () => {
    while (!isOver) await send(`/${done++ % PATHS}`);
  });
  const failed = Promise.all(sending);
  const during = async <T>(begin: () => T, end: (begun: T, requests: number) => Promise<number> | number) => {
    const [before, begun] = [done, begin()];
    await Promise.race([sleep(seconds * 1_000), failed]);
    return await end(begun, done - before);
  };
  await during(
    () => undefined,
    () => 0,
  );
  const cpu = await during(process.cpuUsage, (begun, requests) => {
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / requests;
  });
  const session = new Session();
  session.connect();
  const options = { samplingInterval: 16_384, includeObjectsCollectedByMinorGC: true };
  await session.post("HeapProfiler.startSampling", { ...options, includeObjectsCollectedByMajorGC: true });
  const bytes = await during(
    () => undefined,
    async (_, requests) => {
      const { profile } = await session.post("HeapProfiler.stopSampling");
      return allocated(profile.head) / requests;
    },
  );
  isOver = true;
  await failed;
  return { cpu, bytes };
}

interface Node {
  selfSize: number;
  children: Node[];
}

function allocated({ selfSize, children }: Node): number {
  return children.reduce((sum, child) => sum + allocated(child), selfSize);
}
