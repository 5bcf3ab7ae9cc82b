import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { expect, test } from "@jest/globals";
import { extraAuthorities, request, SHORT_DEADLINE_MS, sender, tls } from "./sending.ts";

/** Requests that have come; whether the answer may go; answers that have gone. */
const [RECEIVED, MAY_ANSWER, ANSWERED] = [0, 1, 2];

/** A receiver in a thread of its own, which goes on while this one is busy. */
const RECEIVER = `
  const { parentPort, workerData: { state, tls } } = require("node:worker_threads");
  const server = require("node:https").createServer(tls, (request, response) => {
    request.resume().on("end", () => {
      Atomics.add(state, ${RECEIVED}, 1);
      const answer = () => {
        if (Atomics.load(state, ${MAY_ANSWER}) === 0) return setTimeout(answer, 1);
        response.end(() => Atomics.add(state, ${ANSWERED}, 1));
      };
      answer();
    });
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

test("regression: an answer that has come is an answer, though this process was too busy to read it until the time was up", async () => {
  const state = new Int32Array(new SharedArrayBuffer(12));
  const worker = new Worker(RECEIVER, { eval: true, workerData: { state, tls } });
  const sending = sender({ extraAuthorities, deadlineMs: SHORT_DEADLINE_MS });
  try {
    const [port] = await once(worker, "message");
    const url = `https://receiver.test:${port}/`;
    // Its connection serves the next request.
    Atomics.store(state, MAY_ANSWER, 1);
    let warm = await sending.send(request({ url }));
    while (!warm.succeeded) warm = await sending.send(request({ url }));

    Atomics.store(state, MAY_ANSWER, 0);
    const before = [RECEIVED, ANSWERED].map((count) => Atomics.load(state, count)) as [number, number];
    const begun = performance.now();
    const result = sending.send(request({ url }));
    while (Atomics.load(state, RECEIVED) === before[0]) await nextTurn();
    Atomics.store(state, MAY_ANSWER, 1);
    while (Atomics.load(state, ANSWERED) === before[1] || performance.now() - begun < 2 * SHORT_DEADLINE_MS);
    expect(await result).toMatchObject({ succeeded: true, statusCode: 200 });
  } finally {
    await sending.close();
    await worker.terminate();
  }
});
