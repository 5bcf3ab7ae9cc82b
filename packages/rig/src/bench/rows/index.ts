import type { Row } from "../row.ts";
import { deliveriesRow } from "./deliveries.ts";
import { fairnessRow } from "./fairness.ts";
import { fanOutRow } from "./fan-out.ts";
import { growthRow } from "./growth.ts";
import { latencyRow } from "./latency.ts";
import { manualRow } from "./manual.ts";

/** What `pnpm bench` measures, in this order. */
export const ROWS: readonly Row[] = [deliveriesRow, fanOutRow, latencyRow, manualRow, fairnessRow, growthRow];
