import { get } from "node:http";
import type { PrometheusPrograms } from "../stack/prometheus.ts";
import type { TestChromium, TestPostgres, TestRabbitmq, TestRabbitmqServer } from "./test-stack.ts";

/** The environment variable in which a run tells its test files where its stack is. */
export const TEST_STACK_URL = "HERALD_TEST_STACK_URL";

/** Time for a stack to come up, installing RabbitMQ included. */
export const STACK_TIMEOUT_MS = 300_000;

export function askForPostgres(): Promise<TestPostgres> {
  return ask("/postgres") as Promise<TestPostgres>;
}

export function askForRabbitmq(): Promise<TestRabbitmq> {
  return ask("/rabbitmq") as Promise<TestRabbitmq>;
}

/** For test files that run nodes of their own; those ask with STACK_TIMEOUT_MS, since it may have to be installed. */
export function askForRabbitmqServer(): Promise<TestRabbitmqServer> {
  return ask("/rabbitmq-server") as Promise<TestRabbitmqServer>;
}

/** The same for Prometheus, which may have to be fetched. */
export function askForPrometheus(): Promise<PrometheusPrograms> {
  return ask("/prometheus") as Promise<PrometheusPrograms>;
}

export function askForChromium(): Promise<TestChromium> {
  return ask("/chromium") as Promise<TestChromium>;
}

/** Go, which may have to be installed: ask with STACK_TIMEOUT_MS. */
export function askForGo(): Promise<{ executable: string }> {
  return ask("/go") as Promise<{ executable: string }>;
}

/** Mono compiles and runs C#; it may have to be installed: ask with STACK_TIMEOUT_MS. */
export function askForMono(): Promise<{ compiler: string; runtime: string }> {
  return ask("/mono") as Promise<{ compiler: string; runtime: string }>;
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
