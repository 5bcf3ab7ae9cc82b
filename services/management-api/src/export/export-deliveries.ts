import type { Reads } from "@herald/common/database/queries";
import { type HistoryRow, toListItem } from "@herald/common/history/summary";
import type { DeliveryExportRow, ExportFormat } from "@herald/contracts";
import { type DeliveryFilter, type HistoryParts, readHistory } from "../deliveries/history.ts";
import { cursorOf, parseCursor } from "../deliveries/sought.ts";
import { type EndpointKey, findEndpoint } from "../endpoints/find-endpoint.ts";
import type { Download } from "../http/download.ts";
import type { KeyedLimiter } from "../http/keyed-limiter.ts";
import { deliveryBodies } from "../sql/delivery-details.ts";
import { rowFormats } from "./csv.ts";

export interface ExportParts extends HistoryParts {
  /** The limiter by which the statements of all exports take turns. */
  exportTurns: KeyedLimiter;
}

/** The query parameters of an export, validated. */
export interface ExportQuery extends DeliveryFilter {
  format: ExportFormat;
  bodies: boolean;
  cursor?: string;
}

/** What one step holds in memory: this many rows, and bodies of {@link BODY_BYTES} together, or one larger body. */
const ROWS = 500;
const BODY_BYTES = 512 * 1024;

/**
 * All of an endpoint's history that passes the filters, newest first, with a cursor in each row.
 *
 * Newer deliveries come before the first row, so none enters behind a cursor. What a catch-up makes of old events would: with `to`,
 * which says before when deliveries were made, it doesn't, and the export holds the same whenever it is made or goes on. Each row
 * says how its delivery stood when it was read: of one that has ended, that stays.
 */
export function exportDeliveries(parts: ExportParts, key: EndpointKey, query: ExportQuery): Download {
  const { cursor, format, bodies, ...filter } = query;
  const begin = cursor === undefined ? null : parseCursor(cursor);
  const stamp = parts.clock
    .now()
    .toISOString()
    .replace(/[-:]|\.\d+/g, "");
  const { type, head: headOf, row: lineOf } = rowFormats[format];

  /** Ends with an error where the endpoint was deleted meanwhile, since the export is then not complete. */
  async function* pieces(signal: AbortSignal): AsyncGenerator<string> {
    const queries = byTurns(parts, key, signal);
    // What goes on is put behind what has arrived, and so has no head.
    let head = begin === null ? headOf(bodies) : "";
    let olderThan = begin;
    do {
      const { rows, next } = await readHistory({ ...parts, queries }, key, filter, { olderThan, limit: ROWS });
      for await (const written of bodies ? withBodies(queries, key, rows) : [rows.map(toListItem)]) {
        if (written.length === 0) continue;
        const lines = written.map((row) => lineOf({ ...row, cursor: cursorOf(row.id) }, bodies));
        yield head + lines.join("");
        head = "";
      }
      olderThan = next;
    } while (olderThan !== null);
    await findEndpoint(parts.prisma, key);
    if (head !== "") yield head;
  }

  return { type: `${type}; charset=utf-8`, fileName: `deliveries-${key.id}-${stamp}.${format}`, pieces };
}

/** The rows with their bodies, some at a time. */
async function* withBodies(
  queries: Reads,
  { organizationId }: EndpointKey,
  rows: readonly HistoryRow[],
): AsyncGenerator<Omit<DeliveryExportRow, "cursor">[]> {
  let rest = rows;
  while (rest.length > 0) {
    const bodies = await deliveryBodies(queries, {
      organizationId,
      ids: rest.map(({ id }) => id),
      maxBytes: BODY_BYTES,
    });
    yield bodies.map((body, index) => ({ ...toListItem(rest[index] as HistoryRow), body }));
    rest = rest.slice(bodies.length);
  }
}

/**
 * The exports of all organizations together hold one connection at the most, and only while a statement runs: however many
 * exports there are, other requests find connections. No statement begins for a client that has disconnected.
 */
function byTurns({ queries, exportTurns }: ExportParts, { organizationId }: EndpointKey, signal: AbortSignal): Reads {
  return {
    $queryRaw: <T>(statement: TemplateStringsArray, ...values: unknown[]) =>
      exportTurns.run(organizationId, () => {
        signal.throwIfAborted();
        return queries.$queryRaw<T>(statement, ...values);
      }),
  };
}
