import type { Resend, ResendPreview } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();
const TIMEOUT_MS = 300_000;

/** An endpoint that never got so many deliveries, each with a body of its own. */
async function endpointThatMissed(count: number): Promise<string> {
  const { api, receiver, clock, db } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  await db.database.prisma.$executeRaw`
    insert into delivery (id, endpoint_id, organization_id, event_type, body, state, attempt_count, attempted_at, created_at)
    select delivery_id(event_key(${api.organizationId}, gen_random_uuid(), at), ${endpoint.id}::uuid), ${endpoint.id}::uuid,
      ${api.organizationId}, 'WorkItemCompleted', '{ "größe":  ' || number || e' }\r\n', 'exhausted', 5, at, at
    from generate_series(1, ${count}::int) as number
    cross join lateral (
      select ${clock.now()}::timestamptz - interval '1 hour' + number * interval '1 millisecond' as at
    ) as time`;
  return endpoint.id;
}

/** Resolves when a resend has ended and nothing of it waits. The clock is moved where it rests: never while an attempt is under way. */
async function ended(id: string, { id: resendId }: Resend): Promise<Resend> {
  return await eventually(
    async () => {
      const resend = await environment.api.read<Resend>(`/${id}/resends/${resendId}`);
      if (resend.state === "running" && resend.waiting === 0) environment.clock.advance(500);
      expect([resend.state === "running", resend.waiting]).toEqual([false, 0]);
      return resend;
    },
    { timeoutMs: TIMEOUT_MS },
  );
}

test(
  "§3.2 a hundred deliveries that a receiver never got are sent again, each once and byte for byte",
  async () => {
    const { api, receiver } = environment;
    const id = await endpointThatMissed(100);
    expect(await api.read<ResendPreview>(`/${id}/resends/preview`)).toMatchObject({ deliveries: 100 });
    const resend = await api.call<Resend>("POST", `/${id}/resends`, {});
    expect(await ended(id, resend)).toMatchObject({ state: "finished", sent: 100, succeeded: 100, failed: 0 });
    const bodies = receiver.requests.map(({ body }) => body.toString());
    const sent = Array.from({ length: 100 }, (_, index) => `{ "größe":  ${index + 1} }\r\n`);
    expect(bodies.sort()).toEqual(sent.sort());
    const ids = receiver.requests.map(({ headers }) => headers["x-service-delivery-id"]);
    expect(new Set(ids).size).toBe(100);
    expect(await environment.states(id)).toEqual({ exhausted: 100, succeeded: 100 });
    expect(await api.read<ResendPreview>(`/${id}/resends/preview`)).toMatchObject({ deliveries: 0 });
  },
  TIMEOUT_MS,
);
