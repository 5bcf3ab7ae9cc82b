import { mkdirSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Postgres, startPostgres } from "../stack/postgres.ts";
import { findOrInstallRabbitmq, type Rabbitmq, startRabbitmq } from "../stack/rabbitmq.ts";
import { RABBITMQ_VERSIONS } from "../stack/rabbitmq-versions.ts";
import { findOrInstallPrometheus, TEST_PROGRAMS } from "../stack/test-programs.ts";
import { makeTemplateDatabase } from "./template-database.ts";

/** The PostgreSQL of a test file. */
export interface TestPostgres {
  /** A database of the server; its user may create databases. */
  serverUrl: string;
  /** Name of the migrated database to clone. */
  template: string;
}

/** The RabbitMQ of a test file. */
export interface TestRabbitmq {
  url: string;
  /** The management API, with credentials; absent for a broker that AMQP_URL names without AMQP_MANAGEMENT_URL. */
  managementUrl?: string;
}

/** A program that a test file runs itself. */
export interface TestProgram {
  executable: string;
}

/**
 * Serves PostgreSQL, RabbitMQ and the programs that tests run to test files, which are in other processes and ask by a path for each. Each is started,
 * or installed, when the first file asks for it. The folder of their data is deleted at the end.
 */
export async function startTestStack(folder: string) {
  mkdirSync(folder, { recursive: true });
  const postgres = once(() => launchPostgres(folder));
  const brokers: { started(): Promise<Rabbitmq | undefined> }[] = [];
  const routes: Record<string, () => Promise<object>> = {
    "/": async () => ({}),
    "/postgres": async (): Promise<TestPostgres> => {
      const { url } = await postgres.get();
      return { serverUrl: url, template: await makeTemplateDatabase(url) };
    },
    "/prometheus": once(findOrInstallPrometheus).get,
  };
  for (const [name, find] of Object.entries(TEST_PROGRAMS)) routes[`/${name}`] = program(find);
  for (const version of RABBITMQ_VERSIONS) {
    const own = { folder: join(folder, `rabbitmq-${version}`), management: true, disposable: true };
    const rabbitmq = once(() => startRabbitmq(own, version));
    brokers.push(rabbitmq);
    routes[`/rabbitmq/${version}`] = async (): Promise<TestRabbitmq> => {
      const { url, managementUrl } = await rabbitmq.get();
      return { url, ...(managementUrl && { managementUrl }) };
    };
    routes[`/rabbitmq-server/${version}`] = program(() => findOrInstallRabbitmq(version));
  }
  const server = await serve(routes);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await Promise.all([
        postgres.started().then((started) => started?.remove()),
        ...brokers.map(async (broker) => (await broker.started())?.stop()),
      ]);
      // A server that did not start has left files too.
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A route that answers with a program that is one file. */
function program(find: () => Promise<string>): () => Promise<TestProgram> {
  const found = once(find);
  return async () => ({ executable: await found.get() });
}

async function launchPostgres(folder: string): Promise<Pick<Postgres, "url" | "remove">> {
  const external = process.env.DATABASE_URL;
  if (external) return { url: external, remove: async () => {} };
  return await startPostgres({ folder: join(folder, "postgres"), disposable: true });
}

function once<T>(start: () => Promise<T>) {
  let result: Promise<T> | undefined;
  return {
    get: () => {
      result ??= start();
      return result;
    },
    /** The started one, if it was started and works. */
    started: async () => await result?.catch(() => undefined),
  };
}

async function serve(routes: Record<string, () => Promise<object>>): Promise<Server> {
  const server = createServer((request, response) => {
    const route = routes[request.url ?? ""] ?? (async () => Promise.reject(new Error(`No ${request.url} here.`)));
    route().then(
      (answer) => response.end(JSON.stringify(answer)),
      (error: unknown) => {
        response.statusCode = 500;
        response.end(JSON.stringify({ error: error instanceof Error ? error.message : String(error) }));
      },
    );
  });
  // A first request may install a program: the connection stays open until that is done.
  server.requestTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return server;
}
