import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";

const root = projectFolder();

const packages = ["packages", "services"].flatMap((parent) =>
  readdirSync(join(root, parent)).map((name) => join(parent, name, "src")),
);

/** The program texts of what runs in production, by their paths. */
const sources = new Map(
  packages
    .filter((folder) => !/packages\/(dev|e2e)\//.test(folder))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => /(?<!\.test)\.tsx?$/.test(file))
        .map((file) => join(folder, file))
        .map((file) => [file, readFileSync(join(root, file), "utf8")] as const),
    ),
);

/** A way to wait for somebody else, and what has to stand beside it in the file, so that the wait has an end. */
const WAYS: [name: string, way: RegExp, bound: RegExp, count: number][] = [
  ["a request by fetch", /(?<![.\w])fetch\(/, /\bsignal\b/, 4],
  [
    "a connection to PostgreSQL",
    /new (pg\.)?(Pool|Client)\(/,
    /connectionTimeoutMillis[\s\S]*(query_timeout|keepAlive: true)/,
    4,
  ],
  [
    "a connection to RabbitMQ",
    /import \{[^}]*(?<!type )\bconnect\b[^}]*\} from "amqplib"/,
    /timeout[\s\S]*heartbeat|heartbeat[\s\S]*timeout/i,
    2,
  ],
  ["a name server", /new Resolver\(/, /\btimeout\b/, 2],
  [
    "a socket, or a request of Node's own",
    /import \{[^}]*(?<!type )\b(connect|request)\b[^}]*\} from "node:(net|tls|https?)"/,
    /setTimeout\(|timeout:/,
    5,
  ],
];

/** Files that need no bound, with the reason. */
const UNBOUNDED: Readonly<Record<string, string>> = {
  "packages/common/src/config/unsafe-settings.ts": "it reads a URL as pg does, and never connects",
};

test.each(WAYS)("each file that waits by %s says for how long", (_, way, bound, count) => {
  const waiting = [...sources].filter(([file, text]) => way.test(text) && !(file in UNBOUNDED));
  // If the pattern found nothing, it would prove nothing.
  expect(waiting.length).toBeGreaterThanOrEqual(count);
  expect(waiting.filter(([, text]) => !bound.test(text)).map(([file]) => file)).toEqual([]);
});

/** What asks RabbitMQ on a channel. Its answer may never come, which callers elsewhere need not know. */
const ASKS =
  /\.(check|assert|bind|unbind|delete|purge)(Queue|Exchange)\(|\.create(Confirm)?Channel\(|\.waitForConfirms\(/;

test("only the packages of the broker, and the command, ask RabbitMQ themselves", () => {
  const asking = [...sources].filter(([, text]) => ASKS.test(text)).map(([file]) => file);
  expect(asking.length).toBeGreaterThan(5);
  expect(asking.filter((file) => !/^packages\/(amqp|emitter|cli|common\/src\/broker)\//.test(file))).toEqual([]);
});

test("each thing that Herald waits for has a bound, what follows, a line or none, a number or none, and a test", () => {
  const page = readFileSync(join(root, "docs/reliability.md"), "utf8");
  const [, list = ""] = /^## What Herald waits for\n(.*?)^## /ms.exec(page) ?? [];
  const rows = list.split("\n").filter((line) => /^\| (?!waits for|---)/.test(line));
  expect(rows.length).toBeGreaterThan(30);
  // That the test is there, the test of links shows.
  const cells = String.raw`[^|\n]+`;
  const row = new RegExp(String.raw`^(\| ${cells} ){5}\| \[[\w-]+\]\(\.\./[\w/-]+\.test\.ts\) \|$`);
  expect(rows.filter((each) => !row.test(each))).toEqual([]);
});
