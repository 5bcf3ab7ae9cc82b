import { BUCKETS, type Cell } from "@herald/common/broker/cell";
import { names } from "@herald/common/broker/topology";
import { depthOf, type QueueDepth } from "../../broker.ts";
import type { Check } from "../check.ts";
import { type Finding, ok, warning } from "../finding.ts";
import { plural } from "../report.ts";
import type { BrokerSubject } from "./subject.ts";

export const buckets: Check<BrokerSubject> = {
  name: "buckets",
  async examine({ connection, namespace, cell }) {
    const depths: QueueDepth[] = [];
    for (const queue of names(namespace).inboxQueues) depths.push(await depthOf(connection, queue));
    return bucketsFindings(depths, cell);
  },
};

/**
 * Two Heralds that have the same bucket are not seen here: RabbitMQ says how many consume a queue, and not who.
 *
 * @param depths of all sixteen inbox queues, in the order of the buckets
 */
export function bucketsFindings(depths: readonly QueueDepth[], { name, buckets }: Cell): Finding[] {
  const findings = depths.flatMap(({ queue, messages, consumers }, index) => {
    if (messages === null || messages === 0 || consumers !== 0) return [];
    const bucket = BUCKETS[index] as string;
    const whose = buckets.includes(bucket) ? "this Herald's" : "another Herald's";
    return [
      warning(
        `${plural(messages, "event")} ${messages === 1 ? "waits" : "wait"} in ${queue}, and nobody takes them: bucket ${bucket} is ${whose}.`,
        buckets.includes(bucket)
          ? "Start the publisher, with the INBOX_BUCKETS that herald doctor reads."
          : `Start the publisher of the Herald whose INBOX_BUCKETS hold ${bucket}; if none does, give the bucket to one of them.`,
      ),
    ];
  });
  if (findings.length > 0) return findings;
  if (buckets.length === BUCKETS.length) return [ok("This Herald serves all organizations.")];
  return [ok(`This Herald, ${name}, serves the organizations of the buckets ${buckets.join(", ")}.`)];
}
