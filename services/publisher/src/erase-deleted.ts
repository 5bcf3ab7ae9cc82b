import { eraseEndpointPage } from "./sql/erase-endpoint.ts";
import { takeErasure } from "./sql/take-erasure.ts";
import { resting, type TaskParts } from "./task.ts";
import { byTurns, type TurnOptions } from "./turns.ts";

/**
 * Makes the task that erases what deleted endpoints have left. An erasure looks twice: at once, and when every fan-out that still
 * knew the endpoint is over.
 */
export function createErasure(parts: TaskParts, options: TurnOptions) {
  const { queries, metrics } = parts;
  return byTurns(
    parts,
    {
      task: "erasure",
      table: "erasure",
      done: "erased deliveries of a deleted endpoint",
      failure: "a deleted endpoint's history can't be erased; it is tried again",
      take: (lease) => takeErasure(queries, lease),
      async page(erasure, bounds, signal) {
        const page = await resting(() => eraseEndpointPage(queries, erasure, bounds), signal);
        metrics.erasedOfDeleted.inc(page.deliveryCount);
        return page;
      },
    },
    options,
  );
}
