import type { Agent } from "node:https";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { setLatest } from "@herald/common/runtime/latest";
import { nodeAuthorities } from "@herald/common/security/node-authorities";
import type { Pem, TlsFiles } from "@herald/common/security/tls-files";
import type { Again } from "./exchange.ts";

type Origin = { host?: unknown; port?: unknown };

/**
 * Groups that every TLS library has had for ten years. The share of a key of a newer group, or a session, make the first message of a handshake
 * (the hello) longer than a packet, or are unknown to what stands before receivers: some balancers, firewalls and TLS libraries end such a connection.
 * So an attacker on the way who ends handshakes gets one with these groups, and none that is weaker.
 */
const OLD_GROUPS = "X25519:P-256:P-384";
/** Handshakes of an origin that may break before its handshakes begin with the small hello. One may break by chance. */
const MAX_BROKEN = 2;
const MAX_ORIGINS = 10_000;

export function nameOf({ host, port }: Origin): string {
  return `${host}:${port}`;
}

/**
 * Gives each new connection the authorities that are trusted now, and the hello that its receiver takes. The whole hello has all groups of OpenSSL,
 * and a session; the small one has {@link OLD_GROUPS}, and none. A session is not verified again when it is resumed, so sessions are kept by the
 * authorities of their time. Handshakes of `fresh` begin with the whole hello, of `small` with the small one, of `reused` with what the origin takes.
 */
export function beginHandshakes(
  agents: Record<"reused" | "fresh" | "small", Agent>,
  extraAuthorities: TlsFiles | undefined,
) {
  const contextsNow = secureContexts(extraAuthorities);
  /** How many handshakes of an origin broke with the whole hello, and not with the small one. */
  const broken = new Map<string, number>();
  const needsSmall = (origin: string) => (broken.get(origin) ?? 0) >= MAX_BROKEN;

  for (const agent of Object.values(agents)) {
    const connect = agent.createConnection;
    agent.createConnection = function (options, callback) {
      const origin = nameOf(options);
      const contexts = contextsNow();
      const isSmall = agent === agents.small || (agent === agents.reused && needsSmall(origin));
      const secureContext = isSmall ? contexts.small : contexts.whole;
      // The name under which Node's agent keeps the session.
      const _agentKey = isSmall ? undefined : `${origin} ${contexts.nth}`;
      return connect.call(this, Object.assign(options, { secureContext, _agentKey }), callback);
    };
  }

  return {
    /** A number for the authorities that are trusted now: another one after each change of their files. */
    trusted: () => contextsNow().nth,
    /** The agent for a request that is sent once more. After a handshake that broke it begins with the other hello. */
    again(origin: Origin, why: Again): Agent {
      const isSmall = needsSmall(nameOf(origin)) !== (why === "handshake broken");
      return isSmall ? agents.small : agents.fresh;
    },
    /** The origin's handshake broke, and did not break with the hello of this agent. */
    helped(origin: Origin, agent: Agent): void {
      const name = nameOf(origin);
      if (agent === agents.fresh) broken.delete(name);
      else setLatest(broken, name, (broken.get(name) ?? 0) + 1, MAX_ORIGINS);
    },
  };
}

/** One context serves all connections of its kind until a file of authorities changes, since each parses every root certificate. */
function secureContexts(extraAuthorities: TlsFiles | undefined) {
  let [extra, ofNode]: (Pem | undefined)[] = [];
  let nth = 0;
  let contexts: { whole: SecureContext; readonly small: SecureContext; nth: number } | undefined;

  function create() {
    const ca = extra?.ca;
    const options = { minVersion: "TLSv1.2", ...(ca && { ca: [...getCACertificates("default"), ca] }) } as const;
    let small: SecureContext | undefined;
    return {
      whole: createSecureContext(options),
      // Few processes need it.
      get small() {
        small ??= createSecureContext({ ...options, ecdhCurve: OLD_GROUPS });
        return small;
      },
      nth: ++nth,
    };
  }
  return () => {
    const now = [extraAuthorities?.current(), nodeAuthorities?.current()] as const;
    if (contexts === undefined || now[0] !== extra || now[1] !== ofNode) {
      [extra, ofNode] = now;
      contexts = create();
    }
    return contexts;
  };
}
