import { setTimeout as sleep } from "node:timers/promises";
import type { Resend } from "@herald/contracts";
import { besideRow } from "../beside-row.ts";
import type { BenchHerald } from "../environment.ts";
import { UNTIMED_BODY_REST } from "../sample-body.ts";
import { checkpoint, forgetDeliveries, inDatabase, untilNothingIsDue } from "./stored-backlog.ts";

const GIVEN_UP = 1_000;
/** It has to be shorter than the resend, which sends fifty in a second. */
const MAX_SECONDS = 8;
const POLL_MS = 250;

/** What others notice while an organization has sent again what one of its receivers never got. */
export const resendRow = besideRow({
  name: "resend",
  title: "Endpoints beside a resend of another organization",
  beside: "beside the resend",
  atMost: 1.2,
  endpoints: 20,
  perSecond: 200,
  maxSeconds: MAX_SECONDS,
  figures: {
    resendRate: { label: "deliveries sent again, from its start to its end", unit: "/s" },
    notSent: { label: "deliveries not sent again", unit: "", bar: { atMost: 0 } },
  },
  conditions: { "deliveries that one more endpoint never got": GIVEN_UP },
  async prepare({ herald, traffic }) {
    const away = await traffic.addEndpoint("away");
    return {
      before: () => checkpoint(herald),
      async disturb(measure) {
        await storeGivenUp(herald, away.id);
        await checkpoint(herald);
        const startedAt = performance.now();
        const started = await away.admin.call<Resend>("POST", `/${away.id}/resends`, {});
        const [steady, resend] = await Promise.all([measure(), ended(`/${away.id}/resends/${started.id}`)]);
        await untilNothingIsDue(herald);
        await traffic.untilReceived(steady.emitted);
        const { different, repeated } = await traffic.arrivals();
        await forgetDeliveries(herald);
        return {
          steady,
          lost: steady.emitted - different,
          repeated,
          figures: {
            resendRate: (GIVEN_UP * 1_000) / (resend.endedAt - startedAt),
            notSent: GIVEN_UP - resend.sent,
          },
        };
      },
    };

    async function ended(path: string): Promise<{ sent: number; endedAt: number }> {
      for (;;) {
        const { state, sent } = await away.admin.call<Resend>("GET", path);
        if (state !== "running") return { sent, endedAt: performance.now() };
        await sleep(POLL_MS);
      }
    }
  },
});

/** Stores deliveries that were given up an hour ago, each with a body of its own. */
async function storeGivenUp(herald: BenchHerald, endpointId: string): Promise<void> {
  await inDatabase(herald, (client) =>
    client.query(
      `insert into delivery (id, endpoint_id, organization_id, event_type, body, state, attempt_count, attempted_at, duration_ms,
                             status_code, error_summary, failure_kind, created_at)
      select delivery_id(event_key(organization_id, event_id, at), id), id, organization_id, 'WorkItemCompleted',
        '{"id":"' || event_id || $3::text, 'exhausted', 5, at, 12, 503, 'receiver answered 503', 'http_status', at
      from (
        select id, organization_id, gen_random_uuid() as event_id,
          date_trunc('milliseconds', now()) - interval '1 hour' + number * interval '1 millisecond' as at
        from webhook_endpoint, generate_series(1, $2::int) as number
        where id = $1::uuid
      ) as wanted`,
      [endpointId, GIVEN_UP, UNTIMED_BODY_REST],
    ),
  );
}
