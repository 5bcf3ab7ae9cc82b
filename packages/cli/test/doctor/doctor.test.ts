import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/testkit/stack/folders";
import { freePort } from "@herald/testkit/stack/ports";
import { describe, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { depthOf } from "../../src/broker.ts";
import { callHerald, runHerald } from "../run-herald.ts";
import { only, useRightSetUp } from "./right-set-up.ts";

const { postgres, broker, caFile, receiverUrl, settings: right, answerKeys, complaints } = useRightSetUp();

/** As docs/operating/doctor.md lists them. */
function documentedChecks(): string[] {
  const page = readFileSync(join(projectFolder(), "docs/operating/doctor.md"), "utf8");
  return [...page.matchAll(/^\| ([^|]+?) \|/gm)].flatMap(([, name = ""]) => (name === "check" ? [] : [name]));
}

describe("of a right set-up", () => {
  test("the doctor says that there is nothing to do, with each check in a table", async () => {
    const { code, stdout, stderr } = await runHerald(["doctor", "--url", receiverUrl()], right());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^STATUS +CHECK +FINDING\n/);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("Nothing to do.");
    const checks = [...stdout.matchAll(/^ok {2,}(.+?) {2,}/gm)].map(([, check]) => check);
    // Those two have findings only where something is wrong, or instead of all others.
    expect(documentedChecks().filter((check) => !["settings", "PostgreSQL"].includes(check))).toEqual(checks);
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

  test("the doctor makes nothing", async () => {
    const namespace = `${broker.namespace}.new`;
    expect(await complaints({ settings: { BROKER_NAMESPACE: namespace } })).toEqual([]);
    const connection = await connect(broker.url);
    const { messages } = await depthOf(connection, `${namespace}.events.rejected`);
    await connection.close();
    expect(messages).toBeNull();
  });
});

describe("of the settings", () => {
  test("the doctor finds those that can't be used, goes on with the others, and shows no secret", async () => {
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

  test.each([
    ["RETRY_DELAYS_SECONDS", "60,abc", /RETRY_DELAYS_SECONDS must match pattern/],
    ["CLAIM_LEASE_SECONDS", "5", /CLAIM_LEASE_SECONDS: must be more than ATTEMPT_TIMEOUT_SECONDS/],
    ["READS_PER_MINUTE", "0", /READS_PER_MINUTE must be >= 1/],
    ["NOTICE_INTERVAL_SECONDS", "often", /NOTICE_INTERVAL_SECONDS must be number/],
    ["OUTBOX_KEEP_DAYS", "-1", /OUTBOX_KEEP_DAYS must be >= 0/],
  ])("the doctor finds that a service does not start with %s=%s", async (name, value, what) => {
    expect(await complaints({ settings: { [name]: value } })).toEqual(
      only("fault", "settings", what, /Correct it for the services/),
    );
  });

  test.each([
    ["ENDPOINT_CONCURENCY", "ENDPOINT_CONCURRENCY"],
    ["DATABSE_POOL_SIZE", "DATABASE_POOL_SIZE"],
    ["retry_delays_seconds", "RETRY_DELAYS_SECONDS"],
    ["SECRET_KEY_FILE", "SECRET_KEYS_FILE"],
  ])("the doctor warns that %s is no setting, and says that %s is", async (name, meant) => {
    const found = await complaints({ settings: { [name]: "7", KUBERNETES_SERVICE_PORT: "443", HOSTNAME: "one" } });
    expect(found).toEqual(only("warning", "settings", new RegExp(`^${name} is no setting`), new RegExp(meant)));
  });

  test("the doctor finds what the services refuse in production, and looks at it all the same", async () => {
    const found = await complaints({ settings: { HERALD_ENV: "production", SIGN_IN_LINKS: "true" } });
    // The password of a test's broker is its user's name.
    expect(found.map(({ check, what }) => [check, what.split(":")[0]])).toEqual([
      ["settings", "AMQP_URL is not safe with HERALD_ENV=production"],
      ["settings", "SIGN_IN_LINKS is not safe with HERALD_ENV=production"],
      // Its receivers are on this machine.
      ["settings", "ALLOWED_PRIVATE_NETWORKS is not safe with HERALD_ENV=production"],
    ]);
  });

  test("the doctor can't run without any, and says which it wants", async () => {
    const { code, stdout, stderr } = await callHerald(["doctor"], {});
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("DATABASE_URL and AMQP_URL");
  });
});

describe("of what is outside", () => {
  test("the doctor finds a key server that does not answer, or has no usable key", async () => {
    const away = await complaints({ settings: { AUTH_JWKS_URL: `http://127.0.0.1:${await freePort()}/jwks` } });
    expect(away).toEqual(
      only("fault", "identity provider's keys", /Nothing listens at 127\.0\.0\.1:/, /AUTH_JWKS_URL/),
    );

    answerKeys('{"keys":[]}');
    const empty = await complaints();
    answerKeys();
    expect(empty).toEqual(only("fault", "identity provider's keys", /none that tokens/, /Have the provider sign/));
  });

  test("the doctor finds a receiver whose address is not public", async () => {
    const found = await complaints({ settings: { ALLOWED_PRIVATE_NETWORKS: "" } });
    expect(found).toEqual(only("fault", "way out", /address that is not public/, /ALLOWED_PRIVATE_NETWORKS/));
  });

  test("the doctor finds a receiver whose certificate is not trusted", async () => {
    const found = await complaints({ settings: { EXTRA_CA_FILE: "" } });
    expect(found).toEqual(only("fault", "way out", /authority that is not trusted/, /EXTRA_CA_FILE/));
  });

  test("the doctor finds that name servers can't be asked", async () => {
    const found = await complaints({
      settings: { DNS_SERVERS: "127.0.0.1:1" },
      args: ["--url", "https://receiver.example/"],
    });
    expect(found).toEqual(only("fault", "way out", /name servers do not say/, /DNS_SERVERS/));
  });

  test("the doctor finds that nothing listens at the receiver", async () => {
    const found = await complaints({ args: ["--url", "https://127.0.0.1:1/"] });
    expect(found).toEqual(only("fault", "way out", /Nothing listens/, /--url/));
  });
});
