import { names } from "@herald/common/broker/topology";
import type { ServiceName } from "@herald/common/database/rights";
import { type BrokerAddress, closeBroker, openBroker } from "../../broker.ts";
import { hostOf } from "../../database.ts";
import { type OnCheck, runChecks } from "../check.ts";
import type { NamedFinding } from "../finding.ts";
import { alarmFinding, isBlocked } from "./alarm.ts";
import { buckets } from "./buckets.ts";
import { leftovers } from "./leftovers.ts";
import { limits } from "./limits.ts";
import { queues } from "./queues.ts";
import { refusalFinding } from "./refusal.ts";
import { brokerRights } from "./rights.ts";
import { brokerVersion } from "./version.ts";

const CHECKS = [brokerVersion, brokerRights, queues, buckets, leftovers, limits];

export async function diagnoseBroker(
  address: BrokerAddress,
  service: ServiceName | undefined,
  onCheck: OnCheck,
): Promise<NamedFinding[]> {
  const { url, namespace, cell } = address;
  onCheck("RabbitMQ");
  const connection = await openBroker(address).catch((error: unknown) => refusalFinding(error, hostOf(url)));
  if ("status" in connection) return [{ check: "RabbitMQ", ...connection }];
  try {
    const blocked = await isBlocked(connection);
    const alarm = { check: "RabbitMQ", ...alarmFinding(blocked) };
    if (blocked) return [alarm];
    const vhost = decodeURIComponent(new URL(url).pathname.slice(1)) || "/";
    const subject = { connection, names: names(namespace, cell), namespace, cell, vhost, service };
    return [alarm, ...(await runChecks(CHECKS, subject, onCheck))];
  } finally {
    await closeBroker(connection);
  }
}
