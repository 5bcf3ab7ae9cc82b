import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "@jest/globals";
import pg from "pg";
import { brokerFinding, probeFinding } from "./broker.ts";
import { type Finding, report } from "./finding.ts";
import { keysFinding } from "./outside.ts";
import { commit, type DatabaseSubject, locksRoom, partitions, server } from "./postgres.ts";
import { nameOf, rightsOf } from "./rights.ts";

// Here is what no test can make on every machine: other versions, other clocks, servers that fall silent. The rest is in test/doctor.

const error = (given: object) => Object.assign(new Error(), given);
const right = {
  ...{
    version: 180_004,
    versionText: "18.4",
    isStandby: false,
    readOnlySource: null,
    encoding: "UTF8",
    schema: "public",
    searchPath: "public",
  },
  ...{
    searchPathSource: "database",
    user: "app",
    database: "herald",
    databaseOwner: "admin",
    mayUse: true,
    mayCreate: false,
  },
  ...{ owner: "owner", isOwner: false, otherSchema: null },
};
const given = { facts: {} };
/** A check's finding by the one row that PostgreSQL answers. */
const judged = <Row>(check: { judge(rows: Row[], subject: typeof given): Finding | Finding[] }, row: Row) =>
  [check.judge([row], given)].flat()[0];
const jwkOf = (bits: number) => generateKeyPairSync("rsa", { modulusLength: bits }).publicKey.export({ format: "jwk" });
const keys = (all: unknown, status = 200) =>
  keysFinding({ host: "identity", status, text: JSON.stringify({ keys: all }) });

test.each<[string, Finding | undefined, RegExp]>([
  ["PostgreSQL 18", judged(server, right), /^ok: PostgreSQL 18\.4/],
  [
    "PostgreSQL 14",
    judged(server, { ...right, version: 140_012, versionText: "14.12" }),
    /^fault: .*14\.12; Herald needs 15 or newer\. Upgrade/,
  ],
  ["a standby", judged(server, { ...right, isStandby: true }), /^fault: It is a standby.*at the primary/],
  ["no partition yet", judged(partitions, { all: 0, ahead: 0, gaps: [] }), /^nothing/],
  ["no day ahead", judged(partitions, { all: 2, ahead: 0, gaps: [] }), /^fault: No day ahead.*make_partitions/],
  ["one day ahead", judged(partitions, { all: 2, ahead: 1, gaps: [] }), /^warning: Only 1 day ahead has/],
  ["four days ahead", judged(partitions, { all: 5, ahead: 4, gaps: [] }), /^nothing/],
  ["room for locks", judged(locksRoom, { room: 6_400, connections: 100, partitions: 53 }), /^nothing/],
  [
    "little room for locks",
    judged(locksRoom, { room: 1_280, connections: 20, partitions: 40 }),
    /^warning: .* room for 1280 locks\. .* all 40 partitions takes up to 440, .* max_locks_per_transaction = 220`/,
  ],
  ["RabbitMQ 4", brokerFinding({ product: "RabbitMQ", version: "4.1.0-rc.2" }), /^ok: RabbitMQ 4\.1\.0-rc\.2/],
  [
    "RabbitMQ 3.9",
    brokerFinding({ product: "RabbitMQ", version: "3.9.29" }),
    /^fault: .*needs RabbitMQ 3\.10 or newer/,
  ],
  [
    "another broker",
    brokerFinding({ product: "LavinMQ", version: "2.0.0" }),
    /^fault: It is LavinMQ 2\.0\.0; Herald needs RabbitMQ/,
  ],
  [
    "a broker that takes no event",
    probeFinding(error({ code: 406, message: "message size 307200 is larger than max" }), "write", {
      namespace: "herald",
      vhost: "/",
      user: "herald",
      service: undefined,
    }),
    /^fault: .*refuses messages of 300 KiB.*max_message_size/,
  ],
  ["keys that sign", keys([jwkOf(2048)]), /^ok: identity has 1 key/],
  ["a key for encryption", keys([{ ...jwkOf(2048), use: "enc" }]), /^fault: identity has no key for signatures/],
  [
    "keys of other kinds",
    keys([{ kty: "oct", k: "c2VjcmV0" }, { kty: "RSA", n: "x" }, "text"]),
    /^fault: identity has no key for signatures/,
  ],
  ["an answer without keys", keys(undefined), /^fault: .*openid-configuration/],
  [
    "an answer that is an error",
    keys([], 404),
    /^fault: identity answers 404, and not with keys\. Correct AUTH_JWKS_URL/,
  ],
  ["a provider that is down", keys([], 503), /^fault: identity answers 503\. The provider has to mend it/],
])("of %s the doctor says what it is", (_name, finding, words) => {
  expect(finding ? `${finding.status}: ${finding.what} ${finding.remedy ?? ""}` : "nothing").toMatch(words);
});

test("of a disk that is full the doctor says to make room", async () => {
  const full = Object.assign(new pg.DatabaseError("could not extend file", 0, "error"), { code: "53100" });
  const writing = {
    async query(text: string) {
      if (text.startsWith("insert")) throw full;
      return [];
    },
    close: async () => undefined,
  };
  const subject = { session: writing, openSession: async () => writing } as unknown as DatabaseSubject;
  expect(await commit.examine(subject)).toMatchObject({
    status: "fault",
    what: expect.stringContaining("disk is full: could not extend file"),
    remedy: expect.stringContaining("Make room"),
  });
});

test("grants fall apart into single rights, each once", () => {
  const grants = ["select (id, name), insert on a, b", "insert on b", "execute on function f(uuid, text), g()"];
  expect(rightsOf(grants).map(nameOf).sort()).toEqual([
    "execute on function f(uuid, text)",
    "execute on function g()",
    ...["insert on a", "insert on b"],
    ...["select (id) on a", "select (id) on b", "select (name) on a", "select (name) on b"],
  ]);
});

test("a report has a remedy below its finding, and counts both kinds", () => {
  const findings = [
    { check: "one", status: "fault", what: "It is wrong.", remedy: "Mend it." },
    { check: "two", status: "warning", what: "It is bad.", remedy: "Better it." },
    { check: "three", status: "ok", what: "It is right.", remedy: null },
  ] as const;
  const text = report(findings, false);
  expect(text).toMatch(/^STATUS +CHECK +FINDING\nfault +one +It is wrong\.\n +-> Mend it\.\nwarning +two/);
  expect(text).toMatch(/\n\n1 fault, 1 warning\.\n$/);
  expect(report(findings.slice(2), false)).toMatch(/\nNothing to do\.\n$/);
  expect(JSON.parse(report(findings, true))).toEqual({ faults: 1, warnings: 1, findings });
});
