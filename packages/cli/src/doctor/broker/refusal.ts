import { explainBrokerTls } from "@herald/common/broker/tls";
import { reasonOf } from "../../database.ts";
import { type Finding, fault } from "../finding.ts";
import { unreachable } from "../unreachable.ts";

/** Why RabbitMQ at `host` takes no connection, and what to do. */
export function refusalFinding(error: unknown, host: string): Finding {
  const tls = explainBrokerTls(error);
  if (tls) return fault(tls.what, tls.remedy);
  const reason = reasonOf(error);
  if (/ACCESS[-_]REFUSED/.test(reason)) {
    return fault(
      `RabbitMQ at ${host} refuses this user.`,
      "Correct user and password in AMQP_URL (special characters percent-encoded). The user guest is for the broker's own machine only.",
    );
  }
  // What RabbitMQ says of a virtual host, amqplib keeps to itself.
  if (/Expected ConnectionOpenOk/.test(reason)) {
    return fault(
      `RabbitMQ at ${host} refuses the virtual host: there is none of this name, or the user has no rights in it.`,
      "Correct the virtual host in AMQP_URL (its path; / is written %2f), create it, or give the user rights in it.",
    );
  }
  if (/abruptly|ECONNRESET/.test(reason)) {
    return fault(
      `What listens at ${host} ends the connection at once.`,
      "Name RabbitMQ's AMQP port in AMQP_URL: often 5672, or 5671 with amqps:// for TLS.",
    );
  }
  return (
    unreachable(error, { name: "RabbitMQ", host, urlSetting: "AMQP_URL" }) ??
    fault(`RabbitMQ at ${host} takes no connection: ${reason}.`, "Look for this message in the broker's log.")
  );
}
