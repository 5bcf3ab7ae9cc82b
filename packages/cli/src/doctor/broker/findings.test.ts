import { describe, expect, test } from "@jest/globals";
import type { Finding } from "../finding.ts";
import { alarmFinding } from "./alarm.ts";
import { bucketsFindings } from "./buckets.ts";
import { leftoversFindings } from "./leftovers.ts";
import { type Limits, limitsFindings } from "./limits.ts";
import { wordsOf } from "./queues.ts";
import { refusalFinding } from "./refusal.ts";
import { rightsFinding } from "./rights.ts";
import { versionFinding } from "./version.ts";

/** The status, and both sentences as one text. */
function say({ status, what, remedy }: Finding): string {
  return `${status}: ${what} ${remedy ?? ""}`;
}

test.each([
  [{ product: "RabbitMQ", version: "3.9.29" }, /^fault: .*needs 3\.10 or newer. Upgrade/],
  [{ product: "RabbitMQ", version: "3.10.8" }, /^ok/],
  [{ product: "RabbitMQ", version: "4.1.0-rc.2" }, /^ok: RabbitMQ 4\.1\.0-rc\.2/],
  [{ product: "RabbitMQ", version: "5.0.0" }, /^warning: .*tried up to 4/],
  [{ product: "LavinMQ", version: "2.0.0" }, /^fault: The broker is LavinMQ 2\.0\.0, and not RabbitMQ/],
  [{}, /^fault: The broker is unknown/],
])("of the broker %j the doctor says %s", (properties, words) => {
  expect(say(versionFinding(properties))).toMatch(words);
});

describe("the buckets", () => {
  const half = { name: "a", buckets: [..."01234567"] };
  const depths = (change: Record<number, { messages: number; consumers: number }> = {}) =>
    Array.from({ length: 16 }, (_, index) => ({
      queue: `inbox.${index}`,
      messages: 0,
      consumers: 0,
      ...change[index],
    }));

  test("that this Herald serves are said", () => {
    expect(bucketsFindings(depths(), { buckets: [..."0123456789abcdef"] }).map(say)).toEqual([
      "ok: This Herald serves all organizations. ",
    ]);
    expect(bucketsFindings(depths(), half).map(say)).toEqual([
      expect.stringMatching(/^ok: This Herald, a, .* buckets 0, 1, 2, 3, 4, 5, 6, 7\./),
    ]);
  });

  test("whose events wait for nobody are a warning, with whose they are", () => {
    const found = bucketsFindings(
      depths({ 3: { messages: 1, consumers: 0 }, 4: { messages: 9, consumers: 1 }, 12: { messages: 5, consumers: 0 } }),
      half,
    );
    expect(found.map(say)).toEqual([
      expect.stringMatching(/^warning: 1 event waits in inbox\.3, .* bucket 3 is this Herald's\. Start the publisher/),
      expect.stringMatching(/^warning: 5 events wait in inbox\.12, .* bucket c is another Herald's\. .*hold c/),
    ]);
  });
});

describe("the broker's limits", () => {
  const right: Limits = { takesEvents: true, takesLargeMessages: false, frameMax: 16_384 };
  const judge = (change: Partial<Limits>) => limitsFindings({ ...right, ...change }).map(say);

  test("are right as deploy/docker/rabbitmq.conf has them", () => {
    expect(judge({})).toEqual([expect.stringMatching(/^ok/)]);
  });

  test("are warnings where they are wider", () => {
    expect(judge({ takesLargeMessages: true })).toEqual([
      expect.stringMatching(/^warning: .*more than 1 MiB.*max_message_size = 1048576.*only services that you trust/),
    ]);
    expect(judge({ frameMax: 131_072 })).toEqual([expect.stringMatching(/^warning: .*131072.*frame_max = 16384/)]);
  });

  test("are a fault where not every event passes", () => {
    expect(judge({ takesEvents: false })).toEqual([expect.stringMatching(/^fault: .*max_message_size/)]);
  });
});

test("a right that the broker's user lacks is named, with the command that gives all of them", () => {
  const place = { namespace: "tenant.a", vhost: "herald" };
  expect(rightsFinding(undefined, place).status).toBe("ok");
  const words = say(rightsFinding("configure", place));
  expect(words).toMatch(/^fault: .*lacks the right to configure/);
  expect(words).toContain(String.raw`--vhost herald USER '^tenant\.a\.'`);
});

test("queues of an earlier Herald are named: empty ones to be deleted, others to be emptied first", () => {
  const empty = { queue: "herald.dispatch.first", messages: 0, consumers: 0 };
  const full = { queue: "herald.events.inbox", messages: 3, consumers: 0 };
  const absent = { queue: "herald.events.inbox", messages: null, consumers: null };
  expect(leftoversFindings([absent], "/").map(say)).toEqual([expect.stringMatching(/^ok/)]);
  expect(leftoversFindings([empty, full], "/").map(say)).toEqual([
    expect.stringMatching(/^warning: .*rabbitmqctl delete_queue --vhost \/ --if-empty herald\.dispatch\.first$/),
    expect.stringMatching(
      /^fault: 3 messages wait in the queue herald\.events\.inbox.*publisher until the queue is empty/,
    ),
  ]);
});

test("the broker's words about another argument are put shortly", () => {
  const said = (rest: string) =>
    wordsOf(
      `Operation failed: QueueDeclare; 406 (PRECONDITION-FAILED) with message "PRECONDITION_FAILED - inequivalent arg ${rest}"`,
    );
  expect(said("'x-queue-type' for queue 'q' in vhost '/': received 'quorum' but current is 'classic'")).toBe(
    "x-queue-type is 'classic', and Herald declares 'quorum'",
  );
  expect(
    said(
      "'x-max-length' for queue 'q' in vhost '/': received the value '20000' of type 'signedint' but current is none",
    ),
  ).toBe("x-max-length is none, and Herald declares '20000'");
  expect(wordsOf("something else")).toBe("something else");
});

const ended = 'Handshake terminated by server: 403 (ACCESS-REFUSED) with message "ACCESS_REFUSED - Login was refused"';

test.each([
  [{ code: "ECONNREFUSED" }, "Nothing listens at mq:5672", "AMQP_URL"],
  [{ message: "connect ETIMEDOUT" }, "does not answer", "firewall"],
  [{ message: ended }, "refuses this user", "user and password in AMQP_URL"],
  [{ message: "Expected ConnectionOpenOk; got <ConnectionClose channel:0>" }, "refuses the virtual host", "AMQP_URL"],
  [{ message: "Socket closed abruptly during opening handshake" }, "ends the connection at once", "5671"],
  [{ code: "SELF_SIGNED_CERT_IN_CHAIN" }, "authority that is not trusted", "AMQP_CA_FILE"],
  [{ message: "strange" }, "strange", "broker's log"],
])("a refusal by RabbitMQ is explained: %j", (error, what, remedy) => {
  const finding = refusalFinding(Object.assign(new Error(), error), "mq:5672");
  expect(finding).toMatchObject({
    status: "fault",
    what: expect.stringContaining(what),
    remedy: expect.stringContaining(remedy),
  });
});

test("an alarm of the broker is a fault, with the command that says which", () => {
  expect(alarmFinding(false).status).toBe("ok");
  expect(say(alarmFinding(true))).toMatch(/^fault: .*takes no messages.*rabbitmq-diagnostics alarms/);
});
