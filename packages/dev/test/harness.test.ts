import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { useBroker } from "../src/harness/use-broker.ts";

const broker = useBroker();

test("a test file has a broker of its own, which can close its connections", async () => {
  const connection = await connect(broker.url);
  connection.on("error", () => {});
  const closed = new Promise((resolve) => connection.once("close", resolve));
  expect(await broker.countConnections()).toBe(1);
  await broker.closeConnections();
  await closed;
  expect(await broker.countConnections()).toBe(0);
});
