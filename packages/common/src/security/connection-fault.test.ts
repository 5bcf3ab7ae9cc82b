import { expect, test } from "@jest/globals";
import { BROKER, explain, isTlsFault, POSTGRES, type Server } from "./connection-fault.ts";

const error = (code: string, message = "refused", more = {}) => Object.assign(new Error(message), { code, ...more });
const DATABASE = "postgres://herald:do-not-show@db:5432/herald";
const AMQP = "amqp://herald:do-not-show@mq:5672/production";

test.each<[string, unknown, Server, string, RegExp]>([
  [
    "another authority",
    error("SELF_SIGNED_CERT_IN_CHAIN"),
    POSTGRES,
    DATABASE,
    /^PostgreSQL's .*not trusted.*\(SELF_SIGNED.*DATABASE_CA_FILE/,
  ],
  ["a broker of another authority", error("CERT_UNTRUSTED"), BROKER, AMQP, /^RabbitMQ's .*not trusted.*AMQP_CA_FILE/],
  ["a certificate that has expired", error("CERT_HAS_EXPIRED"), POSTGRES, DATABASE, /expired\. Renew it on the server/],
  ["a certificate of tomorrow", error("CERT_NOT_YET_VALID"), POSTGRES, DATABASE, /Compare the clocks/],
  [
    "another name",
    error("ERR_TLS_CERT_ALTNAME_INVALID", "no", { host: "db.internal", cert: { subjectaltname: "DNS:other" } }),
    POSTGRES,
    DATABASE,
    /is for DNS:other, and not for db\.internal/,
  ],
  ["no TLS", error("ERR_SSL_WRONG_VERSION_NUMBER"), POSTGRES, DATABASE, /does not speak TLS at this port/],
  [
    "no TLS, in pg's words",
    new Error("The server does not support SSL connections"),
    POSTGRES,
    DATABASE,
    /does not speak TLS at this port/,
  ],
  ["a server that asks for TLS", error("28000", "no encryption"), POSTGRES, DATABASE, /asks for TLS\. Name its/],
  ["a wrong password", error("28P01", "password"), POSTGRES, DATABASE, /db:5432 refuses this user: password\. Correct/],
  ["no connection left", error("53300", "too many"), POSTGRES, DATABASE, /no connection left.*max_connections/],
  ["a pooler", new Error("unsupported startup parameter: x"), POSTGRES, DATABASE, /A pooler.*Remove it from DATABASE_/],
  ["a frozen PostgreSQL", new Error("timeout expired"), POSTGRES, DATABASE, /db:5432 does not answer.*overloaded/],
  ["an unknown name", error("ENOTFOUND"), POSTGRES, DATABASE, /^The name.*db:5432.*getent hosts/],
  ["no way", error("EHOSTUNREACH"), POSTGRES, DATABASE, /\(EHOSTUNREACH\).*network policy/],
  ["nothing that listens", error("ECONNREFUSED"), BROKER, AMQP, /Nothing listens at mq:5672.*port in AMQP_URL/],
  ["a frozen RabbitMQ", new Error("connect ETIMEDOUT"), BROKER, AMQP, /RabbitMQ at mq:5672 does not answer.*firewall/],
  ["a port of another", new Error("Socket closed abruptly"), BROKER, AMQP, /ends the connection at once.*5671/],
  [
    "a virtual host",
    new Error("Expected ConnectionOpenOk; got <ConnectionClose channel:0>"),
    BROKER,
    AMQP,
    /refuses the virtual host production: .*--vhost production/,
  ],
  ["another error", new Error("strange"), POSTGRES, DATABASE, /takes no connection: strange\. Look.*server's log/],
])("of %s the words say what it is and what to do, and show no password", (_name, fault, server, url, words) => {
  const { what, remedy } = explain(fault, server, url);
  expect(`${what} ${remedy}`).toMatch(words);
  expect(`${what} ${remedy}`).not.toContain("do-not-show");
});

test("a fault of TLS differs from other errors", () => {
  expect(isTlsFault(error("CERT_HAS_EXPIRED"))).toBe(true);
  for (const other of [error("ECONNREFUSED"), new Error("no"), undefined, "text"])
    expect(isTlsFault(other)).toBe(false);
});
