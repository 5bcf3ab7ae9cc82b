import "reflect-metadata";
import { once } from "node:events";
import {
  createServer,
  request as httpRequest,
  IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from "node:http";
import { connect } from "node:http2";
import { type AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { runInThisContext } from "node:vm";
import { afterEach, describe, expect, test } from "@jest/globals";
import {
  Body,
  Controller,
  HttpCode,
  type INestApplication,
  Module,
  type NestApplicationOptions,
  Next,
  Post,
  Req,
  Res,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import express from "express";
import { Hono } from "hono";
import Koa from "koa";
import { expressWebhook } from "../src/express.ts";
import { fastifyWebhook } from "../src/fastify.ts";
import { fetchWebhook } from "../src/fetch.ts";
import { sign, type Webhook, type WebhookOptions } from "../src/index.ts";

// By Node's own `require`: that of jest on Node 20 and 22 can't load a module that fastify.inject needs.
const { createRequire }: typeof import("node:module") = runInThisContext('process.getBuiltinModule("module")');
const Fastify: typeof import("fastify").fastify = createRequire(import.meta.url)("fastify");

const secret = "a signing secret";
const now = new Date("2025-11-20T15:00:00Z");
/** Bytes that a parser would not give back: the spaces and the escapes are part of what is signed. */
const body = Buffer.from('{ "type": "RiskCreated",  "id": "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111", "x": "\\u00e9" }\n');

type Options = WebhookOptions<unknown>;
/** A framework's server with the adapter on /hooks; if it has parsers, with one of JSON for the rest of the application. */
type Framework = (options: Options) => Promise<Server>;

const frameworks: Record<string, Framework> = {
  Express: async (options) => {
    const app = express();
    app.set("env", "test");
    app.post("/hooks", expressWebhook(options));
    app.use(express.json());
    app.post("/json", (request, response) => void response.json(request.body));
    return listen(app);
  },
  NestJS: async (options) => {
    const app = await nest({}, () => undefined);
    app.use("/hooks", expressWebhook(options));
    return nestServer(app);
  },
  Fastify: async (options) => {
    const app = Fastify();
    app.register(fastifyWebhook, { path: "/hooks", ...options });
    app.post("/json", async (request) => request.body);
    await app.listen({ host: "127.0.0.1", port: 0 });
    open.push(app.server);
    return app.server;
  },
  Koa: async (options) => {
    const app = new Koa();
    app.silent = true;
    const webhook = expressWebhook(options);
    app.use(async (ctx) => {
      if (ctx.path !== "/hooks") return;
      ctx.respond = false;
      await webhook(ctx.req, ctx.res, ctx.onerror);
    });
    return listen(app.callback());
  },
  Hono: async (options) => {
    const app = new Hono();
    const webhook = fetchWebhook(options);
    app.post("/hooks", (c) => webhook(c.req.raw));
    app.onError((_error, c) => c.text("Internal Server Error", 500));
    return listen((incoming, response) => void throughFetch(async (request) => app.fetch(request), incoming, response));
  },
  "Next.js": async (options) => {
    const POST = fetchWebhook(options);
    return listen((incoming, response) => void throughFetch(POST, incoming, response));
  },
};

type Handle = (request: IncomingMessage, response: ServerResponse, next: (error: unknown) => void) => unknown;

/** An application of NestJS with a controller at /hooks, and another one for JSON. Its decorators are called as functions. */
async function nest(options: NestApplicationOptions, hooks: Handle): Promise<INestApplication> {
  class Routes {
    hooks(request: IncomingMessage, response: ServerResponse, next: (error: unknown) => void) {
      return hooks(request, response, next);
    }
    json(body: unknown) {
      return body;
    }
  }
  const decorated = (method: keyof Routes, arrangement: MethodDecorator, parameters: ParameterDecorator[]) => {
    arrangement(Routes.prototype, method, Object.getOwnPropertyDescriptor(Routes.prototype, method) ?? {});
    parameters.forEach((parameter, index) => {
      parameter(Routes.prototype, method, index);
    });
  };
  decorated("hooks", Post("hooks"), [Req(), Res(), Next()]);
  decorated("json", Post("json"), [Body()]);
  HttpCode(200)(Routes.prototype, "json", Object.getOwnPropertyDescriptor(Routes.prototype, "json") ?? {});
  Controller()(Routes);
  class AppModule {}
  Module({ controllers: [Routes] })(AppModule);
  return await NestFactory.create(AppModule, { logger: false, ...options });
}

async function nestServer(app: INestApplication): Promise<Server> {
  await app.listen(0, "127.0.0.1");
  const server = app.getHttpServer() as Server;
  open.push(server);
  return server;
}

const open: Server[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) {
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  }
});

describe.each(Object.entries(frameworks))("%s", (name, framework) => {
  async function start(options: Partial<Options> = {}) {
    const received: Webhook[] = [];
    const server = await framework({
      secret,
      receive: (webhook) => void received.push(webhook),
      now: () => now,
      ...options,
    });
    return { server, received };
  }

  test(`§4.4.1 §4.4.5 ${name} hands the verified event and its exact bytes on, and answers 204 after that`, async () => {
    let finished = false;
    const received: Webhook[] = [];
    const { server } = await start({
      receive: async (webhook) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        received.push(webhook);
        finished = true;
      },
    });
    const answer = await post(server, body);
    expect(finished).toBe(true);
    expect(answer).toEqual({ status: 204, text: "" });
    expect(received).toHaveLength(1);
    expect(Buffer.from(received[0]?.body ?? [])).toEqual(body);
    expect(received[0]).toMatchObject({ event: "RiskCreated", deliveryId: "delivery-1", payload: { x: "é" } });
  });

  test(`§4.4.2 ${name} rejects a body that was changed, and says why`, async () => {
    const { server, received } = await start();
    const answer = await post(server, body, { "X-Service-Signature": sign(secret, 1, body) });
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.text)).toEqual({ reason: "signature_mismatch", message: expect.any(String) });
    expect(received).toHaveLength(0);
  });

  test(`§4.4.4 ${name} rejects a header that is there twice`, async () => {
    const { server, received } = await start();
    const answer = await post(server, body, { "X-Service-Event": ["RiskCreated", "ProjectCreated"] });
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.text)).toMatchObject({ reason: "duplicate_header" });
    expect(received).toHaveLength(0);
  });

  test(`§4.4.4 ${name} takes a body of exactly the limit and answers 413 to one byte more`, async () => {
    const { server, received } = await start({ bodyLimitBytes: 1000 });
    expect((await post(server, Buffer.alloc(1000, "a"))).status).toBe(204);
    expect((await post(server, Buffer.alloc(1001, "a"))).status).toBe(413);
    expect((await post(server, Buffer.alloc(1001, "a"), { "Transfer-Encoding": "chunked" })).status).toBe(413);
    expect(received).toHaveLength(1);
  });

  test(`${name} takes 256 KiB by default`, async () => {
    const { server } = await start();
    expect((await post(server, Buffer.alloc(256 * 1024, "a"))).status).toBe(204);
    expect((await post(server, Buffer.alloc(256 * 1024 + 1, "a"))).status).toBe(413);
  });

  test(`§4.4.5 ${name} answers a failure if the event cannot be accepted`, async () => {
    const { server } = await start({ receive: () => Promise.reject(new Error("the queue is full")) });
    expect((await post(server, body)).status).toBe(500);
  });

  test(`${name} answers 404 if there is no such endpoint`, async () => {
    const { server, received } = await start({ secret: () => null });
    expect((await post(server, body)).status).toBe(404);
    expect(received).toHaveLength(0);
  });

  test(`${name} takes a body of any content type`, async () => {
    const { server } = await start();
    expect((await post(server, body, { "Content-Type": "text/plain" })).status).toBe(204);
  });

  test.each([undefined, "", [], [secret, ""]])(
    `${name} does not start with %j for a secret, and says so`,
    async (none) => {
      await expect(start({ secret: none })).rejects.toThrow(
        /^(express|fastify|fetch)Webhook has no signing secret: it is undefined or empty\. Set the variable/,
      );
    },
  );

  if (["Express", "NestJS", "Fastify"].includes(name)) {
    test(`${name} leaves the application's other routes their parsers`, async () => {
      const { server } = await start();
      const answer = await post(server, Buffer.from('{ "a": 1 }'), {}, "/json");
      expect(answer).toEqual({ status: 200, text: '{"a":1}' });
    });
  }
});

describe("a body that the framework has read before", () => {
  const options: Options = { secret, receive: () => {}, now: () => now };

  test.each<[string, string, () => Promise<Server>]>([
    [
      "Express behind express.json()",
      "register the route before express.json()",
      async () => {
        const app = express();
        app.use(express.json());
        app.post("/hooks", expressWebhook(options));
        app.use(((error, _request, response, _next) => {
          response.status(500).send((error as Error).message);
        }) satisfies express.ErrorRequestHandler);
        return listen(app);
      },
    ],
    [
      "NestJS, in a controller without rawBody",
      "NestJS: app.use(path, expressWebhook(...)) in main.ts",
      async () => {
        const webhook = expressWebhook(options);
        const failed = (response: ServerResponse) => (error: unknown) =>
          response.writeHead(500).end((error as Error).message);
        return nestServer(await nest({}, (request, response) => webhook(request, response, failed(response))));
      },
    ],
    [
      "Hono after c.req.json()",
      "c.req.raw before c.req.json()",
      async () => {
        const app = new Hono();
        const webhook = fetchWebhook(options);
        app.post("/hooks", async (c) => {
          await c.req.json();
          return webhook(c.req.raw);
        });
        app.onError((error, c) => c.text(error.message, 500));
        return listen(
          (incoming, response) => void throughFetch(async (request) => app.fetch(request), incoming, response),
        );
      },
    ],
  ])("%s says what to do", async (_name, remedy, start) => {
    expect(await post(await start(), body)).toEqual({ status: 500, text: expect.stringContaining(remedy) });
  });

  test("the bytes that express.raw() or NestJS has kept are taken", async () => {
    const app = express();
    app.use(express.raw({ type: "*/*" }));
    app.post("/hooks", expressWebhook(options));
    expect((await post(await listen(app), body)).status).toBe(204);
    const kept = await nestServer(await nest({ rawBody: true }, expressWebhook(options)));
    expect((await post(kept, body)).status).toBe(204);
  });
});

describe("a request that keeps its headers elsewhere than Node's HTTP/1 does", () => {
  const options: Options = { secret, receive: () => {}, now: () => now };
  type Sent = Record<string, string | string[]>;
  const fastify = (server = {}) => Fastify(server).register(fastifyWebhook, { path: "/hooks", ...options });

  test.each<[string, (headers: Sent) => Promise<number | undefined>]>([
    [
      "of fastify's inject",
      async (headers) => {
        const app = fastify();
        return (await app.inject({ method: "POST", url: "/hooks", headers, payload: body })).statusCode;
      },
    ],
    [
      "of HTTP/2",
      async (headers) => {
        const app = fastify({ http2: true });
        await app.listen({ host: "127.0.0.1", port: 0 });
        const session = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
        const stream = session.request({ ":method": "POST", ":path": "/hooks", ...headers });
        const [answer] = await once(stream.end(body).resume(), "response");
        session.destroy();
        await app.close();
        return answer[":status"];
      },
    ],
    [
      "of serverless-http, as API Gateway joins them",
      (headers) => {
        const joined = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat().join(",")]);
        const request = Object.assign(new IncomingMessage(new Socket()), {
          headers: Object.fromEntries(joined),
          body,
        });
        const response = new ServerResponse(request);
        return new Promise((resolve, reject) => {
          Object.assign(response, { end: () => resolve(response.statusCode) });
          expressWebhook(options)(request, response, reject);
        });
      },
    ],
  ])("%s is verified, and a header that is there twice is refused", async (_name, send) => {
    expect(await send(headersFor(body))).toBe(204);
    expect(await send({ ...headersFor(body), "X-Service-Event": ["RiskCreated", "ProjectCreated"] })).toBe(401);
  });
});

test("a secret is found by the route's parameter", async () => {
  const app = express();
  app.post(
    "/hooks/:endpoint",
    expressWebhook<express.Request>({
      secret: async ({ params }) => (params.endpoint === "orders" ? secret : null),
      receive: () => {},
      now: () => now,
    }),
  );
  const server = await listen(app);
  expect((await post(server, body, {}, "/hooks/orders")).status).toBe(204);
  expect((await post(server, body, {}, "/hooks/others")).status).toBe(404);
});

test("fetch answers 405 to what is no POST", async () => {
  const handler = fetchWebhook({ secret, receive: () => {} });
  expect((await handler(new Request("http://localhost/"))).status).toBe(405);
});

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  open.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return server;
}

function headersFor(bytes: Buffer) {
  const timestamp = now.getTime() / 1000;
  return {
    "Content-Type": "application/json; charset=utf-8",
    "X-Service-Signature": sign(secret, timestamp, bytes),
    "X-Service-Timestamp": String(timestamp),
    "X-Service-Event": "RiskCreated",
    "X-Service-Delivery-Id": "delivery-1",
  };
}

/** Posts with the headers of a sender; those of `changes` replace or repeat them. */
function post(server: Server, bytes: Buffer, changes: Record<string, string | string[]> = {}, path = "/hooks") {
  const headers = { ...headersFor(bytes), ...changes };
  const { port } = server.address() as AddressInfo;
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const request = httpRequest(
      { host: "127.0.0.1", port, path, method: "POST", headers, agent: false },
      (response) => {
        text(response).then((said) => resolve({ status: response.statusCode, text: said }), reject);
      },
    );
    request.on("error", reject);
    request.end(bytes);
  });
}

/** A server that calls a handler of the fetch interface. */
async function throughFetch(
  handler: (request: Request) => Promise<Response>,
  ...[incoming, outgoing]: Parameters<RequestListener>
): Promise<void> {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const request = new Request(`http://localhost${incoming.url}`, {
    method: "POST",
    headers,
    body: incoming as never,
    duplex: "half",
  });
  const response = await handler(request).catch(() => new Response(null, { status: 500 }));
  incoming.resume();
  outgoing.writeHead(response.status).end(await response.text());
}
