import { type Finding, fault } from "./finding.ts";

/** Why no connection to a server came about, in the network's way, and what to do; undefined for other errors. */
export function unreachable(
  error: unknown,
  { name, host, urlSetting }: { name: string; host: string; urlSetting: string },
): Finding | undefined {
  const { code, message = "" } = error as { code?: string; message?: string };
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return fault(
        `The name of ${name}'s host, ${host}, is not known here.`,
        `Correct it in ${urlSetting}; else ask the name server from here: getent hosts NAME`,
      );
    case "ECONNREFUSED":
      return fault(
        `Nothing listens at ${host}, where ${name} should be.`,
        `Start ${name}, or correct host and port in ${urlSetting}.`,
      );
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return fault(
        `${name} at ${host} can't be reached (${code}).`,
        "Open the way to it: firewall, security group, network policy, route.",
      );
    default:
      if (!/timeout|ETIMEDOUT/i.test(message)) return undefined;
      return fault(
        `${name} at ${host} does not answer.`,
        "Open the way to it (firewall, security group, network policy); else see whether it is overloaded.",
      );
  }
}
