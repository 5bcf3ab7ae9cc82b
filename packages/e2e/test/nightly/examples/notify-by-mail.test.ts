import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { names } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type ChannelModel, type ConfirmChannel, connect } from "amqplib";
import { BUILD_TIMEOUT_MS, output, withoutPnpm } from "../../../src/child.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

const environment = useTestEnvironment();

/** What the mail server was given. */
interface Mail {
  to: string[];
  raw: string;
}

let folder = "";
let smtp: { listen(port: number, host: string): Server; close(done: () => void): void };
let smtpUrl = "";
let mails: Mail[] = [];
/** What the mail server answers to the next mails, instead of taking them. */
let answers: number[] = [];
let program: ChildProcess | undefined;
let product: ChannelModel;
let channel: ConfirmChannel;
let queue = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "herald-notify-"));
  cpSync(join(projectFolder(), "examples/notify-by-mail"), folder, { recursive: true });
  await output("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], folder, withoutPnpm());
  mkdirSync(join(folder, "node_modules/@herald"), { recursive: true });
  symlinkSync(join(projectFolder(), "packages/amqp"), join(folder, "node_modules/@herald/amqp"));
  const { SMTPServer } = createRequire(join(folder, "package.json"))("smtp-server");
  smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ["AUTH", "STARTTLS"],
    onData(
      stream: NodeJS.ReadableStream,
      session: { envelope: { rcptTo: { address: string }[] } },
      done: (error?: Error) => void,
    ) {
      let raw = "";
      stream.setEncoding("utf8");
      stream.on("data", (chunk) => {
        raw += chunk;
      });
      stream.on("end", () => {
        const responseCode = answers.shift();
        if (responseCode !== undefined) return done(Object.assign(new Error("not now"), { responseCode }));
        mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), raw });
        done();
      });
    },
  });
  const server = smtp.listen(0, "127.0.0.1");
  await once(server, "listening");
  smtpUrl = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, BUILD_TIMEOUT_MS);

afterAll(async () => {
  await new Promise<void>((resolve) => smtp.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  mails = [];
  answers = [];
  queue = `${environment.broker.namespace}.product.notices-${randomUUID()}`;
  product = await connect(environment.broker.url);
  channel = await product.createConfirmChannel();
  const recipients = {
    organizations: { [environment.api.organizationId]: ["ana@example.com"] },
    developers: ["dev@example.com"],
  };
  writeFileSync(join(folder, "recipients.json"), JSON.stringify(recipients));
  await start();
});

afterEach(async () => {
  await stop("SIGTERM");
  await channel.deleteQueue(queue);
  await channel.deleteQueue(`${queue}.failed`);
  await channel.deleteExchange(`${queue}.failed`);
  await product.close();
});

async function start(): Promise<void> {
  const env = {
    ...withoutPnpm(),
    AMQP_URL: environment.broker.url,
    BROKER_NAMESPACE: environment.broker.namespace,
    QUEUE: queue,
    SMTP_URL: smtpUrl,
    MAIL_FROM: "Herald <herald@example.com>",
    PAGE_URL: "https://app.example.com/webhooks",
  };
  program = spawn(process.execPath, ["notify.mjs"], { cwd: folder, env, stdio: "ignore" });
  await eventually(async () => {
    const own = await connect(environment.broker.url);
    own.on("error", () => {});
    try {
      const asking = await own.createChannel();
      asking.on("error", () => {});
      expect((await asking.checkQueue(queue)).consumerCount).toBe(1);
    } finally {
      await own.close();
    }
  });
}

async function stop(signal: NodeJS.Signals): Promise<number | null> {
  const ending = program;
  program = undefined;
  if (!ending || ending.exitCode !== null) return ending?.exitCode ?? null;
  ending.kill(signal);
  await once(ending, "exit");
  return ending.exitCode;
}

/** As Herald would tell it. */
async function tell(notice: object | string): Promise<void> {
  const content = Buffer.from(typeof notice === "string" ? notice : JSON.stringify(notice));
  channel.publish(names(environment.broker.namespace).noticesExchange, "endpoint.failing", content, {
    persistent: true,
  });
  await channel.waitForConfirms();
}

const aNotice = (name = "Billing", override: object = {}) => ({
  id: randomUUID(),
  type: "endpoint.failing",
  occurredAtUtc: "2026-03-01T12:00:00.000Z",
  organizationId: environment.api.organizationId,
  endpoint: { id: randomUUID(), name, origin: "https://receiver.test" },
  reason: "3 attempts in a row failed.",
  consecutiveFailures: 3,
  attempts: [],
  ...override,
});

/** A header of a mail, its folded lines joined. */
function headerOf({ raw }: Mail, name: string): string | undefined {
  const [head = ""] = raw.split("\r\n\r\n");
  const lines = head.replace(/\r\n[ \t]+/g, " ").split("\r\n");
  return lines
    .find((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
    ?.slice(name.length + 1)
    .trim();
}

/** The subject as people read it: mails have quotation marks as encoded words. */
function subjectOf(mail: Mail): string | undefined {
  return headerOf(mail, "Subject")
    ?.replace(/\?= =\?UTF-8\?Q\?/g, "")
    .replace(/=\?UTF-8\?Q\?(.*?)\?=/g, (_, text: string) =>
      decodeURIComponent(text.replace(/_/g, " ").replace(/=/g, "%")),
    );
}

/** The body, without the line ends that its encoding adds. */
const bodyOf = ({ raw }: Mail) => raw.replace(/=\r\n/g, "");

const failedCount = async () => (await channel.checkQueue(`${queue}.failed`)).messageCount;

test("an organization's admins get a mail when their endpoint fails, in text and in HTML", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ name: "<b>Billing</b>", url: receiver.url });
  receiver.answerWith({ status: 500 });
  for (let failures = 1; failures <= 3; failures++) {
    await emitter.emit(environment.event());
    await environment.rested(endpoint.id, failures);
  }
  await eventually(() => expect(mails).toHaveLength(1));
  const [mail] = mails as [Mail];
  expect(mail.to).toEqual(["ana@example.com"]);
  expect(subjectOf(mail)).toBe('Webhook "<b>Billing</b>" is failing');
  expect(headerOf(mail, "Message-ID")).toMatch(/^<[0-9a-f-]{36}@example\.com>$/);
  expect(bodyOf(mail)).toContain("Webhook: <b>Billing</b>");
  expect(bodyOf(mail)).toContain("Webhook: &lt;b&gt;Billing&lt;/b&gt;");
});

test("developers get a mail of an event that was rejected, and nobody one of an organization that nobody is known of", async () => {
  const { clock } = environment;
  await tell({ ...aNotice(), organizationId: "somebody else" });
  const broken = JSON.stringify({ ...environment.event(), entityId: "customer 4711" });
  channel.publish(names(environment.broker.namespace).eventsExchange, "WorkItemCompleted", Buffer.from(broken));
  await eventually(() => {
    clock.advance(1_000);
    expect(mails).toHaveLength(1);
  });
  expect(mails).toMatchObject([{ to: ["dev@example.com"] }]);
  expect(bodyOf(mails[0] as Mail)).toContain("/entityId must be a UUID");
  expect(bodyOf(mails[0] as Mail)).not.toContain("customer");
});

test("a mail that the server takes later is sent once, and so is that of a notice that comes twice", async () => {
  answers = [451, 421];
  const notice = aNotice();
  await tell(notice);
  await eventually(() => expect(mails).toHaveLength(1));
  await tell(notice);
  await tell(aNotice("the last"));
  await eventually(() => expect(mails.map((mail) => subjectOf(mail))).toContain('Webhook "the last" is failing'));
  expect(mails).toHaveLength(2);
  expect(headerOf(mails[0] as Mail, "Message-ID")).toBe(`<${notice.id}@example.com>`);
  expect(await failedCount()).toBe(0);
});

test("what can't be mailed is set aside, and holds up nothing", async () => {
  answers = [550];
  await tell(aNotice("refused for ever"));
  await eventually(async () => expect(await failedCount()).toBe(1));
  for (const poison of ["{", "null", "[]", '{"id":"1","type":"endpoint.failing"}']) await tell(poison);
  // Of a type that came later than this program: not its concern.
  await tell({ ...aNotice(), type: "endpoint.renamed" });
  await tell(aNotice());
  await eventually(() => expect(mails).toHaveLength(1));
  await eventually(async () => expect(await failedCount()).toBe(5));
  expect((await channel.checkQueue(queue)).messageCount).toBe(0);
});

test("an endpoint's name can't add a header, a recipient or markup to its mail", async () => {
  await tell(aNotice('Billing\r\nBcc: eve@example.com\r\n\r\n<script>"\u202e'));
  await eventually(() => expect(mails).toHaveLength(1));
  const [mail] = mails as [Mail];
  expect(mail.to).toEqual(["ana@example.com"]);
  expect(headerOf(mail, "Bcc")).toBeUndefined();
  expect(subjectOf(mail)).toBe('Webhook "Billing Bcc: eve@example.com <script>"" is failing');
  expect(bodyOf(mail)).not.toContain("<p>Webhook: Billing Bcc: eve@example.com <script>");
});

test("notices wait while the program does not run, and it ends by itself when it is told to", async () => {
  expect(await stop("SIGTERM")).toBe(0);
  await tell(aNotice("meanwhile"));
  await start();
  await eventually(() => expect(mails.map((mail) => subjectOf(mail))).toEqual(['Webhook "meanwhile" is failing']));
});

test("a program that is killed while the mail server makes it wait sends the mail after its restart", async () => {
  answers = [451, 451, 451];
  await tell(aNotice());
  await eventually(() => expect(answers.length).toBeLessThan(3));
  await stop("SIGKILL");
  answers = [];
  await start();
  await eventually(() => expect(mails).toHaveLength(1));
});
