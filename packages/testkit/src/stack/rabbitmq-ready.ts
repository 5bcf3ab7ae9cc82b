import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "amqplib";
import type { RunningProcess } from "./processes.ts";

export interface ReadyOptions {
  timeoutMs: number;
  /** The process that should answer: once it has ended, waiting is pointless. */
  process?: RunningProcess;
}

/** Resolves when the broker takes a connection; rejects with its own last words when it does not in time. */
export async function untilBrokerAnswers(url: string, options: ReadyOptions): Promise<void> {
  const deadline = Date.now() + options.timeoutMs;
  let ended = false;
  void options.process?.exited.then(() => {
    ended = true;
  });
  for (;;) {
    const problem = await tryConnection(url);
    if (problem === undefined) return;
    const lines = options.process?.lastLines().join("\n") ?? "";
    if (ended) throw new Error(`RabbitMQ ended while it was starting. Its last lines:\n${lines}`);
    if (Date.now() > deadline) {
      const where = new URL(url);
      throw new Error(
        `RabbitMQ at ${where.host} does not answer after ${options.timeoutMs / 1000} s: ${problem.message}\n${lines}`,
      );
    }
    await sleep(200);
  }
}

async function tryConnection(url: string): Promise<Error | undefined> {
  try {
    const connection = await connect(url, { timeout: 5_000 });
    connection.on("error", () => {});
    await connection.close();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
