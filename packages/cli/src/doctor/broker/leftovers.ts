import { depthOf, type QueueDepth } from "../../broker.ts";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";
import { plural } from "../report.ts";
import type { BrokerSubject } from "./subject.ts";

/** Queues that an earlier Herald declared, and none reads any more. */
const FORMER_QUEUES = ["events.inbox", "dispatch.first"];

export const leftovers: Check<BrokerSubject> = {
  name: "leftovers",
  async examine({ connection, namespace, vhost }) {
    const found: QueueDepth[] = [];
    for (const name of FORMER_QUEUES) found.push(await depthOf(connection, `${namespace}.${name}`));
    return leftoversFindings(found, vhost);
  },
};

export function leftoversFindings(depths: readonly QueueDepth[], vhost: string): Finding[] {
  const findings = depths.flatMap(({ queue, messages }) => {
    if (messages === null) return [];
    const deletion = `rabbitmqctl delete_queue --vhost ${vhost} --if-empty ${queue}`;
    if (messages === 0) return [warning(`The queue ${queue} of an earlier Herald is still there.`, deletion)];
    return [
      fault(
        `${plural(messages, "message")} ${messages === 1 ? "waits" : "wait"} in the queue ${queue} of an earlier Herald, which nobody reads.`,
        `Run that Herald's publisher until the queue is empty, then: ${deletion}`,
      ),
    ];
  });
  return findings.length > 0 ? findings : [ok("No queue of an earlier Herald is left.")];
}
