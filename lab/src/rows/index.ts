import type { Row } from "../row.ts";
import { backlogRow } from "./backlog.ts";
import { crashRow } from "./crash.ts";
import { deliveriesRow } from "./deliveries.ts";
import { dispatchersRow } from "./dispatchers.ts";
import { floodRow } from "./flood.ts";
import { growthRow } from "./growth.ts";
import { hostsRow } from "./hosts.ts";
import { idleRow } from "./idle.ts";
import { latencyRow } from "./latency.ts";
import { memoryRow } from "./memory.ts";
import { partitionRow } from "./partition.ts";
import { slowCrowdRow } from "./slow-crowd.ts";

/** What `pnpm bench` measures, in this order. */
export const ROWS: readonly Row[] = [
  latencyRow,
  deliveriesRow,
  dispatchersRow,
  backlogRow,
  floodRow,
  slowCrowdRow,
  crashRow,
  partitionRow,
  hostsRow,
  memoryRow,
  idleRow,
  growthRow,
];
