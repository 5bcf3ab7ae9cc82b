import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import type { MariadbPrograms } from "../stack/mariadb.ts";
import { apartByVersion } from "../stack/postgres-versions.ts";
import { rabbitmqVersion } from "../stack/rabbitmq-versions.ts";
import type { GoProgram, PrometheusPrograms } from "../stack/test-programs.ts";
import type { TestMariadbServer, TestPostgres, TestProgram, TestRabbitmq } from "./test-stack.ts";

/** The environment variable in which a run tells its test files where its stack is. */
export const TEST_STACK_URL = "HERALD_TEST_STACK_URL";

/** Time for what a test file asks for to come up, its installation included. */
export const STACK_TIMEOUT_MS = 300_000;

export function askForPostgres(): Promise<TestPostgres> {
  return ask("/postgres") as Promise<TestPostgres>;
}

/** In the version of RABBITMQ_VERSION, which a test file may set for itself. */
export function askForRabbitmq(): Promise<TestRabbitmq> {
  return ask(`/rabbitmq/${rabbitmqVersion()}`) as Promise<TestRabbitmq>;
}

export function askForMariadb(): Promise<TestMariadbServer> {
  return ask("/mariadb") as Promise<TestMariadbServer>;
}

// The programs below may have to be installed: ask for them in a hook or test with STACK_TIMEOUT_MS.

/** For test files that run RabbitMQ nodes of their own; in the version of RABBITMQ_VERSION. */
export function askForRabbitmqServer(): Promise<TestProgram> {
  return ask(`/rabbitmq-server/${rabbitmqVersion()}`) as Promise<TestProgram>;
}

/** For test files that run a MariaDB of their own. */
export function askForMariadbPrograms(): Promise<MariadbPrograms> {
  return ask("/mariadb-programs") as Promise<MariadbPrograms>;
}

export function askForPgbouncer(): Promise<TestProgram> {
  return ask("/pgbouncer") as Promise<TestProgram>;
}

export function askForPrometheus(): Promise<PrometheusPrograms> {
  return ask("/prometheus") as Promise<PrometheusPrograms>;
}

export function askForChromium(): Promise<TestProgram> {
  return ask("/chromium") as Promise<TestProgram>;
}

/** Go 1.24 or newer. */
export function askForGo(): Promise<GoProgram> {
  return ask("/go") as Promise<GoProgram>;
}

/** With pip. */
export function askForPython(): Promise<TestProgram> {
  return ask("/python") as Promise<TestProgram>;
}

async function ask(path: string): Promise<unknown> {
  const stack = process.env[TEST_STACK_URL];
  if (!stack)
    throw new Error("There is no test stack: these tests run under jest.config.js, whose globalSetup makes it.");
  const answer = (await getJson(`${stack}${path}`)) as { error?: string };
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}

/** By node:http: fetch gives up after five minutes without headers, and keeps a connection that would look leaked. */
export function getJson(url: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve(JSON.parse(body)));
    }).on("error", reject);
  });
}

/** Where `pnpm stack` says that a test stack stays up for many runs, each version of PostgreSQL in a file of its own. */
function sharedStackFile(local: string): string {
  return join(local, `${apartByVersion("test-stack")}.json`);
}

/** The URL of the test stack that `pnpm stack` keeps up, undefined where there is none. */
export async function sharedStackUrl(local: string): Promise<string | undefined> {
  const file = sharedStackFile(local);
  if (!existsSync(file)) return undefined;
  try {
    const { url } = JSON.parse(readFileSync(file, "utf8")) as { url: string };
    await getJson(url);
    return url;
  } catch {
    // A stack that was killed left this file behind.
    rmSync(file, { force: true });
    return undefined;
  }
}

/** Lets test runs find a stack. */
export function announceSharedStack(local: string, url: string): void {
  writeFileSync(sharedStackFile(local), JSON.stringify({ url }));
}

export function withdrawSharedStack(local: string): void {
  rmSync(sharedStackFile(local), { force: true });
}
