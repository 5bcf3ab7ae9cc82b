import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";
import { type BrokerSubject, greetingOf } from "./subject.ts";

const OLDEST = { major: 3, minor: 10 };
/** The newest version that has been tried. */
const NEWEST_MAJOR = 4;

export const brokerVersion: Check<BrokerSubject> = {
  name: "RabbitMQ version",
  examine: async ({ connection }) => versionFinding(greetingOf(connection).serverProperties),
};

export function versionFinding({ product = "unknown", version = "" }: { product?: string; version?: string }): Finding {
  if (product !== "RabbitMQ") {
    return fault(
      `The broker is ${product} ${version}, and not RabbitMQ.`,
      "Point AMQP_URL at a RabbitMQ: Herald relies on its quorum queues and their dead-lettering.",
    );
  }
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor)) {
    return fault(
      `It is RabbitMQ ${version}; Herald needs ${OLDEST.major}.${OLDEST.minor} or newer.`,
      "Upgrade it; older ones can't move a rejected event without the risk of losing it.",
    );
  }
  if (major > NEWEST_MAJOR) {
    return warning(
      `It is RabbitMQ ${version}; Herald has been tried up to ${NEWEST_MAJOR}.`,
      "Look for a newer Herald, or try this one under load before customers depend on it.",
    );
  }
  return ok(`RabbitMQ ${version}`);
}
