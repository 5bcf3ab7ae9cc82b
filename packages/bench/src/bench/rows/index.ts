import type { Row } from "../row.ts";
import { backlogRow } from "./backlog.ts";
import { deliveriesRow } from "./deliveries.ts";
import { dispatchersRow } from "./dispatchers.ts";
import { fairnessRow } from "./fairness.ts";
import { fanOutRow } from "./fan-out.ts";
import { floodRow } from "./flood.ts";
import { growthRow } from "./growth.ts";
import { latencyRow } from "./latency.ts";
import { lookRow } from "./look.ts";
import { manualRow } from "./manual.ts";
import { publishersRow } from "./publishers.ts";
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
  recoveryRow,
  dispatchersRow,
  publishersRow,
  lookRow,
  growthRow,
];
