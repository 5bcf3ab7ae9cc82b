import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { deduplicator, postgresStore, receivedEventTable, verify } from "@herald/receiver";
import pg from "pg";

/** Once in this many requests, the answer is lost on its way, after the effect was written down. */
const LOST_ANSWER_EVERY = 250;

/** A service that acts on events: of each, an effect in its own database. */
export interface ReceivingService {
  /** Where an organization's endpoint is. */
  urlOf(organizationId: string): string;
  /** Tells the secret of an organization's endpoint, without which its requests are refused. */
  trust(organizationId: string, secret: string): void;
  /** Requests so far, repeated ones and refused ones included. */
  readonly requests: HttpsReceiver["requests"];
  countEffects(): Promise<number>;
  /** The effects that one delivery, or one event, had more than once. */
  repeatedEffects(): Promise<unknown[]>;
  close(): Promise<void>;
}

/**
 * It verifies each request, and writes its effect in the transaction in which it remembers the event. Some of its answers
 * are lost, and so the sender has to repeat what has had its effect.
 */
export async function startReceivingService(databaseUrl: string): Promise<ReceivingService> {
  const pool = new pg.Pool({ connectionString: databaseUrl });
  await pool.query(receivedEventTable());
  await pool.query("create table effect (endpoint text not null, delivery text not null, event text not null)");
  const acceptOnce = deduplicator(postgresStore({ pool }));
  const secrets = new Map<string, string>();
  const receiver = await httpsReceiver();

  receiver.answerWith(async ({ path, headers, body }, index) => {
    const endpoint = path.slice(1);
    const secret = secrets.get(endpoint);
    if (secret === undefined) return { status: 404 };
    const verdict = verify({ secret, headers, body });
    if (!verdict.ok) return { status: 401, body: verdict.reason };
    await acceptOnce(endpoint, verdict.eventId, (client) =>
      client.query("insert into effect values ($1, $2, $3)", [endpoint, verdict.deliveryId, verdict.eventId]),
    );
    return index % LOST_ANSWER_EVERY === 0 ? { fault: "reset" } : { status: 204 };
  });

  return {
    urlOf: (organizationId) => `${receiver.url}/${organizationId}`,
    trust: (organizationId, secret) => void secrets.set(organizationId, secret),
    requests: receiver.requests,
    countEffects: async () => (await pool.query("select count(*)::int as count from effect")).rows[0].count,
    repeatedEffects: async () => {
      const { rows } = await pool.query(
        `select 'delivery' as what, delivery as id, count(*)::int as effects from effect group by delivery having count(*) > 1
         union all
         select 'event', event, count(*)::int from effect group by endpoint, event having count(*) > 1
         limit 10`,
      );
      return rows;
    },
    close: async () => {
      await receiver.close();
      await pool.end();
    },
  };
}
