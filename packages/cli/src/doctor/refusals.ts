import { explainBrokerTls } from "@herald/common/broker/tls";
import { DATABASE_SERVER } from "@herald/common/database/client";
import { explainTlsFailure } from "@herald/common/security/server-certificate";
import { reasonOf } from "../database.ts";
import { type Finding, fault } from "./finding.ts";

/** Why no connection to a server came about, in the network's way, and what to do; undefined for other errors. */
export function unreachable(
  error: unknown,
  { name, host, urlSetting }: { name: string; host: string; urlSetting: string },
): Finding | undefined {
  const { code = "", message = "" } = error as { code?: string; message?: string };
  if (["ENOTFOUND", "EAI_AGAIN"].includes(code)) {
    return fault(
      `The name of ${name}'s host, ${host}, is not known here.`,
      `Correct it in ${urlSetting}; else ask the name server from here: getent hosts NAME`,
    );
  }
  if (code === "ECONNREFUSED") {
    return fault(
      `Nothing listens at ${host}, where ${name} should be.`,
      `Start ${name}, or correct host and port in ${urlSetting}.`,
    );
  }
  if (["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"].includes(code) || /timeout|ETIMEDOUT/i.test(message)) {
    return fault(
      `${name} at ${host} does not answer${code === "" ? "" : ` (${code})`}.`,
      "Open the way to it (firewall, security group, network policy, route); else see whether it is overloaded.",
    );
  }
  return undefined;
}

/** Why PostgreSQL at `host` takes no connection, and what to do. */
export function postgresRefusal(error: unknown, host: string): Finding {
  const tls = explainTlsFailure(error, DATABASE_SERVER);
  if (tls) return fault(tls.what, tls.remedy);
  const reason = reasonOf(error);
  const { code = "" } = error as { code?: string };
  if (code === "28000" && /no encryption|SSL off/.test(reason)) {
    return fault(
      `PostgreSQL at ${host} asks for TLS.`,
      "Name its certificate authority by DATABASE_CA_FILE, or add sslmode=verify-full to DATABASE_URL where a public one vouches for it.",
    );
  }
  if (code === "28P01" || code === "28000") {
    return fault(
      `PostgreSQL at ${host} refuses this user: ${reason}.`,
      "Correct user and password in DATABASE_URL (special characters percent-encoded), or the user's line in pg_hba.conf.",
    );
  }
  if (code === "3D000") {
    return fault(`PostgreSQL at ${host} says: ${reason}.`, "Create the database, or correct its name in DATABASE_URL.");
  }
  if (code === "53300") {
    return fault(
      `PostgreSQL at ${host} has no connection left: ${reason}.`,
      "Raise max_connections or the user's limit, or lower DATABASE_POOL_SIZE.",
    );
  }
  if (/startup parameter/.test(reason)) {
    return fault(
      `A pooler stands before PostgreSQL at ${host}, and refuses what DATABASE_URL asks for at the start: ${reason}.`,
      "Remove it from DATABASE_URL: Herald needs no parameter beyond the standard ones.",
    );
  }
  return (
    unreachable(error, { name: "PostgreSQL", host, urlSetting: "DATABASE_URL" }) ??
    fault(`PostgreSQL at ${host} takes no connection: ${reason}.`, "Look for this message in the server's log.")
  );
}

/** Why RabbitMQ at `host` takes no connection, and what to do. */
export function brokerRefusal(error: unknown, host: string, vhost: string): Finding {
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
      `RabbitMQ at ${host} refuses the virtual host ${vhost}: there is none of this name, the user has no rights in it, or a limit of ` +
        "connections is reached.",
      "Correct the virtual host in AMQP_URL (its path; / is written %2f), create it, or give the user rights in it. Limits: " +
        `rabbitmqctl list_vhost_limits --vhost ${vhost} and rabbitmqctl list_user_limits --user USER`,
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
