import { until } from "@herald/dev/harness/client-environment";
import { bogusAck } from "@herald/dev/harness/link";
import { useBroker } from "@herald/dev/harness/use-broker";
import { describe, expect, test } from "@jest/globals";
import { type IncomingMessage, NotSentError } from "../src/index.ts";
import { useScopeEnvironment } from "./use-scope-environment.ts";

const server = useBroker();
const environment = useScopeEnvironment(() => server.url);

describe("a consumer whose channel ended", () => {
  test("after a lost connection a consumer gets unsettled messages again, and settling the old copies does nothing", async () => {
    const { broker, got } = await environment.consuming();
    await environment.put(environment.names.queue, "one");
    await until("it came", () => got.messages.length === 1);

    environment.proxy.cut();
    await until("the loss was seen", () => !broker.isReady());
    await until("it came again", () => got.messages.length === 2);
    const [old, again] = got.messages as [IncomingMessage, IncomingMessage];
    expect(again.redelivered).toBe(true);
    old.ack();
    old.reject();
    again.ack();
    await environment.put(environment.names.queue, "two");
    await until("the next came", () => got.messages.length === 3);
    got.messages[2]?.ack();
    await broker.close();
    expect(await environment.take(environment.names.queue)).toEqual([]);
    expect(await environment.take(environment.names.deadLetterQueue)).toEqual([]);
  });

  test("a consumer gets a new channel after a 406, which is logged once", async () => {
    const { broker, got } = await environment.consuming();
    await environment.put(environment.names.queue, "one");
    await until("it came", () => got.messages.length === 1);

    environment.proxy.inject("test", bogusAck(1));
    await until("it came again", () => got.messages.length === 2);
    got.messages[0]?.ack();
    got.messages[1]?.ack();
    await broker.ready();
    await broker.close();
    expect(await environment.take(environment.names.queue)).toEqual([]);
    const warnings = environment.logged.filter(({ level }) => level === "warn");
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.fields.reason).toMatch(/406.*PRECONDITION/i);
    expect(environment.logged.filter(({ level }) => level === "info")).toHaveLength(1);
  });

  test("a consumer whose queue was deleted has it declared again, and consumes it again", async () => {
    const { broker, got } = await environment.consuming();

    await environment.channel.deleteQueue(environment.names.queue);
    await until("the loss was seen", () => !broker.isReady());
    await broker.ready();
    environment.channel.publish(environment.names.exchange, "RiskCreated", Buffer.from("after"));
    await until("the next event came", () => got.messages.length === 1);
    expect(got.texts()).toEqual(["after"]);
    got.messages[0]?.ack();
  });

  test("a consumer loses no message when its channel and connection end several times", async () => {
    const broker = environment.connect({ name: "consuming" });
    const seen = new Set<string>();
    broker.consume({
      queue: environment.names.queue,
      prefetch: 50,
      handle: (message) =>
        void setImmediate(() => {
          seen.add(message.content.toString());
          message.ack();
        }),
    });
    const sending = environment.connect({ name: "sending" });
    const publisher = sending.publisher();
    await Promise.all([broker.ready(), sending.ready()]);
    const total = 600;
    let sent = 0;
    const publishing = (async () => {
      for (let number = 0; number < total; number++) {
        const content = Buffer.from(String(number));
        for (;;) {
          try {
            await publisher.publish({ exchange: environment.names.exchange, routingKey: "RiskCreated", content });
            break;
          } catch (error) {
            if (!(error instanceof NotSentError) || error.reason === "closed") throw error;
          }
        }
        sent++;
      }
    })();
    for (const share of [1, 2, 3, 4]) {
      await until("some were sent", () => sent >= (total * share) / 5);
      if (share % 2 === 0) environment.proxy.inject("consuming", bogusAck(1));
      else environment.proxy.cut();
    }
    await publishing;
    await until("all came", () => seen.size === total);
  });
});
