import type { Row } from "../row.ts";
import { backlogRow } from "./backlog.ts";
import { deliveriesRow } from "./deliveries.ts";
import { dispatchersRow } from "./dispatchers.ts";
import { fairnessRow } from "./fairness.ts";
import { fanOutRow } from "./fan-out.ts";
import { flakyRow } from "./flaky.ts";
import { floodRow } from "./flood.ts";
import { growthRow } from "./growth.ts";
import { latencyRow } from "./latency.ts";
import { lockedRow } from "./locked.ts";
import { lookRow } from "./look.ts";
import { manualRow } from "./manual.ts";
import { partitionRow } from "./partition.ts";
import { publishersRow } from "./publishers.ts";
import { purgedRow } from "./purged.ts";
import { recoveryRow } from "./recovery.ts";
import { retriesRow } from "./retries.ts";

/** What `pnpm bench` measures, in this order. */
export const ROWS: readonly Row[] = [
  deliveriesRow,
  fanOutRow,
  latencyRow,
  manualRow,
  fairnessRow,
  backlogRow,
  retriesRow,
  floodRow,
  lockedRow,
  flakyRow,
  purgedRow,
  partitionRow,
  recoveryRow,
  dispatchersRow,
  publishersRow,
  lookRow,
  growthRow,
];
