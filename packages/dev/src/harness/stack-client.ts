import { get } from "node:http";
import { json } from "node:stream/consumers";
import { rabbitmqVersion } from "../stack/rabbitmq-versions.ts";
import type { findOrInstallPrometheus, TEST_PROGRAMS } from "../stack/test-programs.ts";
import type { TestPostgres, TestProgram, TestRabbitmq } from "./test-stack.ts";

/** The environment variable that gives test files the address of their run's stack. */
export const TEST_STACK_URL = "HERALD_TEST_STACK_URL";

/** Time for what a test file asks for to come up, its installation included. */
export const STACK_TIMEOUT_MS = 300_000;

export const askForPostgres = () => ask<TestPostgres>("/postgres");

/** In the version of RABBITMQ_VERSION, which a test file may set for itself. */
export const askForRabbitmq = () => ask<TestRabbitmq>(`/rabbitmq/${rabbitmqVersion()}`);

// The programs below may have to be installed: ask for them in a hook or test with STACK_TIMEOUT_MS.

/** For test files that run RabbitMQ nodes of their own; in the version of RABBITMQ_VERSION. */
export const askForRabbitmqServer = () => ask<TestProgram>(`/rabbitmq-server/${rabbitmqVersion()}`);

export const askForProgram = (name: keyof typeof TEST_PROGRAMS) => ask<TestProgram>(`/${name}`);

export const askForPrometheus = () => ask<Awaited<ReturnType<typeof findOrInstallPrometheus>>>("/prometheus");

async function ask<Answer>(path: string): Promise<Answer> {
  const stack = process.env[TEST_STACK_URL];
  if (!stack)
    throw new Error("There is no test stack: these tests run under jest.config.js, whose globalSetup makes it.");
  const answer = (await getJson(`${stack}${path}`)) as Answer & { error?: string };
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}

/** By node:http: fetch gives up after five minutes without headers, and keeps a connection that would look leaked. */
function getJson(url: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => void json(response).then(resolve, reject)).on("error", reject);
  });
}
