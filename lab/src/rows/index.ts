import type { Row } from "../row.ts";
import { backlogRow } from "./backlog.ts";
import { deliveriesRow } from "./deliveries.ts";
import { dispatchersRow } from "./dispatchers.ts";
import { fairnessRow } from "./fairness.ts";
import { fanOutRow } from "./fan-out.ts";
import { flakyRow } from "./flaky.ts";
import { floodRow } from "./flood.ts";
import { growthRow } from "./growth.ts";
import { hostsRow } from "./hosts.ts";
import { latencyRow } from "./latency.ts";
import { lockedRow } from "./locked.ts";
import { lookRow } from "./look.ts";
import { manualRow } from "./manual.ts";
import { manualFloodRow } from "./manual-flood.ts";
import { memoryRow } from "./memory.ts";
import { namesRow } from "./names.ts";
import { partitionRow } from "./partition.ts";
import { publishersRow } from "./publishers.ts";
import { purgedRow } from "./purged.ts";
import { ratesRow } from "./rates.ts";
import { recoveryRow } from "./recovery.ts";
import { resendRow } from "./resend.ts";
import { retriesRow } from "./retries.ts";
import { slowCrowdRow } from "./slow-crowd.ts";
import { slowManualRow } from "./slow-manual.ts";

/** What `pnpm bench` measures, in this order. */
export const ROWS: readonly Row[] = [
  deliveriesRow,
  fanOutRow,
  latencyRow,
  ratesRow,
  manualRow,
  fairnessRow,
  backlogRow,
  retriesRow,
  resendRow,
  floodRow,
  slowCrowdRow,
  slowManualRow,
  manualFloodRow,
  lockedRow,
  flakyRow,
  purgedRow,
  partitionRow,
  recoveryRow,
  namesRow,
  memoryRow,
  hostsRow,
  dispatchersRow,
  publishersRow,
  lookRow,
  growthRow,
];
