import { inbox, until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import { messageTo, useScopeEnvironment } from "./use-scope-environment.ts";

const server = useBroker();
const environment = useScopeEnvironment(() => server.url);

// Long enough for a broker on a busy machine, of which a test could say the same once more than expected.
const answerTimeoutMs = 1_000;

const [OPEN_OK, CLOSE_OK, CONSUME_OK, CANCEL_OK] = ["20.11", "20.41", "60.21", "60.31"];
const methodOf = (frame: Buffer) => (frame[0] === 1 ? `${frame.readUInt16BE(7)}.${frame.readUInt16BE(9)}` : "");

/** The broker withholds the first of these answers, and what it says on the channel after it. Returns whether it has. */
function withhold(answer: string, passing = [OPEN_OK, CLOSE_OK]): () => boolean {
  let silent: number | undefined;
  environment.proxy.hang((frame) => {
    const channel = frame.readUInt16BE(1);
    if (silent === undefined && methodOf(frame) === answer) silent = channel;
    else if (silent === channel && passing.includes(methodOf(frame))) silent = -1;
    return silent === channel;
  });
  return () => silent !== undefined;
}

const hasWarned = (reason: string) =>
  environment.logged.some(({ level, fields }) => level === "warn" && `${fields.reason}`.includes(reason));

test.each([
  ["the declaration of an exchange", "40.11"],
  ["the declaration of a queue", "50.11"],
  ["a binding", "50.21"],
  ["a prefetch", "60.11"],
  ["a consumer", CONSUME_OK],
])(
  "regression: if the broker does not answer %s, its channel is closed, and the next one works",
  async (_of, answer) => {
    const isWithheld = withhold(answer);
    const scope = environment.connect({ answerTimeoutMs });
    const got = inbox();
    scope.consume({ queue: environment.names.queue, prefetch: 10, handle: got.handle });
    await until("it is withheld", isWithheld);
    await scope.ready();
    expect(hasWarned("the broker did not answer a request within 1000 ms")).toBe(true);
    await environment.put(environment.names.queue, "one");
    await until("it came", () => got.messages.length > 0);
    got.messages.at(-1)?.ack();
  },
);

test.each([
  ["open", OPEN_OK],
  ["for confirms", "85.11"],
])(
  "regression: if the broker does not answer that a channel is %s, the connection is made again",
  async (_of, answer) => {
    const isWithheld = withhold(answer, [OPEN_OK]);
    const scope = environment.connect({ answerTimeoutMs });
    const publisher = scope.publisher({ timeoutMs: 100_000 });
    await publisher.publish(messageTo(environment.names.queue, "one"));
    expect(isWithheld()).toBe(true);
    expect(hasWarned("the broker did not open a channel within 1000 ms")).toBe(true);
  },
);

test("regression: if the broker does not even answer that a silent channel is closed, the connection is made again", async () => {
  const isWithheld = withhold("50.11", [OPEN_OK]);
  const scope = environment.connect({ answerTimeoutMs, closeTimeoutMs: 100 });
  const publisher = scope.publisher({ timeoutMs: 100_000 });
  await publisher.publish(messageTo(environment.names.queue, "one"));
  expect(isWithheld()).toBe(true);
  expect(hasWarned("the broker did not answer a request within 1000 ms")).toBe(true);
});

test("regression: a consumer that closes does not wait longer for the answer, and its messages go back", async () => {
  const scope = environment.connect({ answerTimeoutMs });
  const got = inbox();
  const consumer = scope.consume({ queue: environment.names.queue, prefetch: 10, handle: got.handle });
  await scope.ready();
  await environment.put(environment.names.queue, "held");
  await until("it came", () => got.messages.length === 1);
  const isWithheld = withhold(CANCEL_OK);
  // Longer than the test may take.
  await consumer.close({ drainTimeoutMs: 600_000 });
  expect(isWithheld()).toBe(true);
  await until("it went back", async () => (await environment.waitingIn(environment.names.queue)) === 1);
});
