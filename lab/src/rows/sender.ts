import { startChild } from "@herald/e2e/child";
import type { ReceiverRequest } from "../processes/receiver.ts";
import { type SendingCost, type SendingRequest, WAYS, type Way } from "../processes/sending.ts";
import type { FigureKind, Row } from "../row.ts";

const LABELS: Record<Way, string> = {
  tls: "a TLS socket that is kept, and nothing else",
  https: "node:https with a keep-alive agent",
  agent: "  over Herald's agent",
  got: "  + got",
  exchange: "  + exchange: its timer, its limits, its checks",
  sender: "  + sender: headers, two signatures, the verdict",
};

/** The price of one signed request, step by step. What is on this way is exchanged only with these figures before and after. */
export const senderRow: Row = {
  name: "sender",
  title: "One signed request to a receiver that answers at once",
  figures: {
    ...figuresOf("cpu", "us"),
    ...figuresOf("bytes", "B"),
  },
  async open(environment, { seconds }) {
    const receiver = await startChild(new URL("../processes/receiver.js", import.meta.url));
    const { receiverCertificate, authority, code } = environment;
    const listen: ReceiverRequest = { type: "listen", ...receiverCertificate };
    const port = await receiver.ask<number>(listen);

    async function measure(way: Way): Promise<SendingCost> {
      // A process for each, so that none runs on code that another one has made slow.
      const child = await startChild(new URL("../processes/sending.js", import.meta.url));
      const ask = <T>(request: SendingRequest) => child.ask<T>(request);
      try {
        await ask({ type: "open", way, code, port, ca: authority });
        return await ask<SendingCost>({ type: "measure", seconds });
      } finally {
        await child.stop();
      }
    }

    return {
      conditions: `CPU and allocations of the process that sends, 20 requests in flight, ${seconds} s each`,
      async round() {
        const figures: Record<string, number> = {};
        for (const way of WAYS) {
          const { cpu, bytes } = await measure(way);
          figures[`cpu ${way}`] = cpu;
          figures[`bytes ${way}`] = bytes;
        }
        return figures;
      },
      close: () => receiver.stop(),
    };
  },
};

function figuresOf(kind: "cpu" | "bytes", unit: "us" | "B"): Record<string, FigureKind> {
  return Object.fromEntries(WAYS.map((way) => [`${kind} ${way}`, { label: LABELS[way], unit }]));
}
