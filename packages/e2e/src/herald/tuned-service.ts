import { boundHeap } from "@herald/common/service/memory";
import { runService } from "@herald/common/service/run-service";
import type { HeraldTuning } from "./in-process.ts";
import type { ServiceName } from "./processes.ts";

// Runs a service as its own entry does, with what no environment variable sets: `tuned-service.js NAME TUNING-AS-JSON`.
const [name = "", json = "{}"] = process.argv.slice(2);
boundHeap(name);
const tuning = JSON.parse(json) as HeraldTuning;
const LOAD = {
  "management-api": async () => (await import("@herald/management-api")).startManagementApi,
  publisher: async () => (await import("@herald/publisher")).startPublisher,
  dispatcher: async () => (await import("@herald/dispatcher")).startDispatcher,
};
await runService(name, async () => (await LOAD[name as ServiceName]())(process.env, { tuning }));
