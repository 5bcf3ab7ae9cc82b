import { expect, test } from "@jest/globals";
import { chartHeapArgs, chartLimitMebibytes } from "./chart-limits.ts";

test("each service has the chart's limit of memory, and half of it is its heap", () => {
  for (const service of ["management-api", "publisher", "dispatcher"] as const) {
    const limit = chartLimitMebibytes(service);
    expect(limit).toBeGreaterThanOrEqual(128);
    expect(chartHeapArgs(service)).toEqual([`--max-old-space-size=${limit / 2}`]);
  }
});
