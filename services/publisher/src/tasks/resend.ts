import { makeResendPage, takeResend } from "../sql/resend-page.ts";
import { byTurns, type MakingParts } from "./task.ts";

const PAGE_SIZE = 500;

/** Deliveries of one resend that may wait at once. With the pause between pages, a resend makes about fifty a second. */
export const MAX_WAITING = 50;

/** The pause after a page that left no room. The task runs each second, so the pause is shorter. */
const REST_MS = 500;

export function createResend(parts: MakingParts, { leaseMs }: { leaseMs: number }) {
  const { queries, metrics, log, handOver } = parts;
  return byTurns(
    parts,
    {
      task: "resend",
      failure: "a resend failed; it is tried again",
      take: (lease) => takeResend(queries, lease),
      async page(taken, { pageSize, now }) {
        const { id: resendId, endpointId, organizationId } = taken;
        const bounds = { pageSize, maxWaiting: MAX_WAITING, now, restMs: REST_MS };
        const { state, deliveryCount, owner } = await makeResendPage(queries, taken, bounds);
        if (deliveryCount > 0) {
          handOver({ stored: true, deliveries: [], work: [{ endpointId, organizationId, owner }] });
        }
        metrics.resent.inc(deliveryCount);
        if (state !== null && state !== "running") log.info(`a resend is ${state}`, { resendId, endpointId });
        return { held: true, ended: true, deliveryCount };
      },
    },
    { pageSize: PAGE_SIZE, leaseMs },
  );
}
