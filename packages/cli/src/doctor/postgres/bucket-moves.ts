import { countEndpoints, type EndpointCounts } from "../../buckets/bucket-rows.ts";
import type { Check } from "../check.ts";
import { type Finding, ok, warning } from "../finding.ts";
import type { StoredSubject } from "./subject.ts";

export const bucketMoves: Check<StoredSubject> = {
  name: "moves of buckets",
  async examine({ queries }) {
    return bucketMovesFinding(await countEndpoints(queries));
  },
};

export function bucketMovesFinding(counts: readonly EndpointCounts[]): Finding {
  const named = (some: readonly EndpointCounts[]) => some.map(({ bucket }) => bucket).join(", ");
  const moving = counts.filter((each) => each.moving > 0);
  if (moving.length > 0) {
    return warning(
      `A move is not over of these buckets: ${named(moving)}. Nothing is delivered to their organizations.`,
      'Run "herald buckets move" again, or "herald buckets cancel", as docs/operating/cells.md says.',
    );
  }
  const moved = counts.filter((each) => each.moved > 0);
  if (moved.length === 0) return ok("None is under way.");
  return warning(
    `What this database had of buckets that were moved to another cell is still here: ${named(moved)}.`,
    'Run "herald buckets forget" with the settings of the cell that has them now.',
  );
}
