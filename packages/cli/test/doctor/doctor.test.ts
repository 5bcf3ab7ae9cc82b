import { readFileSync } from "node:fs";
import { join } from "node:path";
import { declareTopology, names } from "@herald/common/broker/topology";
import { ODD_SETTINGS, setSettings } from "@herald/dev/harness/odd-settings";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { projectFolder } from "@herald/dev/stack/folders";
import { describe, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { depthOf } from "../../src/connections.ts";
import type { NamedFinding } from "../../src/doctor/finding.ts";
import { callHerald, runHerald } from "../run-herald.ts";
import { useRightSetUp } from "./right-set-up.ts";

const { postgres, broker, caFile, settings: right, complaints, complaintsOf } = useRightSetUp();

/** As docs/operating/doctor.md lists them. */
function documentedChecks(): string[] {
  const page = readFileSync(join(projectFolder(), "docs/operating/doctor.md"), "utf8");
  return [...page.matchAll(/^\| ([^|]+?) \|/gm)].flatMap(([, name = ""]) => (name === "check" ? [] : [name]));
}

describe("of a right set-up", () => {
  test("the doctor says that there is nothing to do, with each check in a table", async () => {
    const { code, stdout, stderr } = await runHerald(["doctor"], right());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^STATUS +CHECK +FINDING\n/);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("Nothing to do.");
    const checks = [...stdout.matchAll(/^ok {2,}(.+?) {2,}/gm)].map(([, check]) => check);
    // A setting has a finding only if it is wrong.
    expect(documentedChecks().filter((check) => check !== "settings")).toEqual(checks);
    expect(stdout).not.toMatch(/^(skipped|warning|fault)/m);
  });

  test.each(["management-api", "publisher", "dispatcher"] as const)(
    "%s's own users are right for it too",
    async (service) => {
      const url = postgres.url(service === "management-api" ? "herald_api" : `herald_${service}`);
      const settings = { DATABASE_URL: url, AMQP_URL: broker.serviceUrls[service] };
      expect(await complaints({ settings, args: ["--service", service] })).toEqual([]);
    },
  );

  test("settings of its user that Herald does not depend on change nothing", async () => {
    const harmless = ODD_SETTINGS.filter(([name]) => name !== "default_transaction_isolation");
    await setSettings(postgres.run, "role herald_app", harmless);
    expect(await complaintsOf("PostgreSQL")).toEqual([]);
    await setSettings(postgres.run, "role herald_app", []);
  });

  test("the doctor makes nothing", async () => {
    const namespace = `${broker.namespace}.new`;
    expect(await complaints({ settings: { BROKER_NAMESPACE: namespace } })).toEqual([]);
    const connection = await connect(broker.url);
    const messages = await depthOf(connection, `${namespace}.events.rejected`);
    await connection.close();
    expect(messages).toBeNull();
  });
});

test("the doctor goes on with what settings that can't be used leave, and shows no secret", async () => {
  const found = await complaints({
    settings: {
      SECRET_KEYS: "k1:do-not-show",
      DATABASE_CA_FILE: join(caFile, "absent.pem"),
      DATABASE_POOL_SIZE: "0",
    },
  });
  expect(found.map(({ check, what }) => [check, what])).toEqual([
    ["settings", expect.stringContaining("DATABASE_POOL_SIZE must be >= 1")],
    ["settings", expect.stringContaining('key "k1" is no X25519 private key')],
    ["settings", expect.stringContaining("DATABASE_CA_FILE names a file that can't be read")],
  ]);
});

test("the doctor finds what the services refuse in production, and still checks all else", async () => {
  const found = await complaints({
    settings: {
      HERALD_ENV: "production",
      PUBLIC_ORIGIN: "http://herald.example.com",
      AUTH_JWT_SECRET: "short",
      AUTH_JWKS_URL: "",
    },
  });
  // The password of a test's broker is its user's name.
  expect(found.map(({ check, what }) => [check, what.split(":")[0]])).toEqual([
    ["settings", "AUTH_JWT_SECRET must NOT have fewer than 32 characters, but is its value (not shown)"],
    ["settings", "AMQP_URL is not safe with HERALD_ENV=production"],
    ["settings", "AUTH_JWT_SECRET is not safe with HERALD_ENV=production"],
    ["settings", "PUBLIC_ORIGIN is not safe with HERALD_ENV=production"],
  ]);
});

test("the doctor can't run without any setting, and says which it wants", async () => {
  const { code, stdout, stderr } = await callHerald(["doctor"], {});
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("DATABASE_URL and AMQP_URL");
});

describe("what waits", () => {
  const db = useDatabase();
  const broker = useBroker();

  test("herald doctor says what waits in PostgreSQL and in RabbitMQ", async () => {
    const { prisma } = db.database;
    const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000);
    const enabled = await insertEndpoint(prisma);
    const paused = await insertEndpoint(prisma, { consecutiveFailures: 1, pausedUntil: minutesFromNow(5) });
    const disabled = await insertEndpoint(prisma, { enabled: false, disabledReason: "failures" });
    for (const minutes of [-10, -5, 5]) {
      await insertDelivery(prisma, enabled, { due: { dueAt: minutesFromNow(minutes) } });
    }
    await insertDelivery(prisma, paused, { due: { dueAt: minutesFromNow(-20) } });
    await insertDelivery(prisma, disabled);
    await prisma.catchUp.create({ data: { endpointId: enabled.id, dueAt: minutesFromNow(-1) } });
    const { rejectedQueue } = names(broker.namespace);
    const connection = await connect(broker.url);
    const channel = await connection.createConfirmChannel();
    await declareTopology(channel, broker.namespace);
    channel.sendToQueue(rejectedQueue, Buffer.from("x"));
    await channel.waitForConfirms();
    await connection.close();

    const settings = { DATABASE_URL: db.url, AMQP_URL: broker.url, BROKER_NAMESPACE: broker.namespace };
    const { findings } = JSON.parse((await callHerald(["doctor", "--json"], settings)).stdout);
    const found = (name: string) => findings.find(({ check }: NamedFinding) => check === name);
    expect(found("what waits")).toMatchObject({
      status: "ok",
      what: expect.stringMatching(
        /^Deliveries: 2 for Herald \(the oldest for 6\d\d s\), 1 for their receiver \(the oldest for 1[2-9]\d\d s\), 1 for a retry, 1 with a disabled endpoint\. Notices: 0\. Catch-ups: 1\. The oldest transaction began \d+ s ago\.$/,
      ),
    });
    expect(found("inbox")).toMatchObject({ status: "ok", what: "Messages: 0 to be stored, 0 set aside, 1 rejected." });
  });
});
