import { runService } from "@herald/common/service/run-service";
import { startDispatcher } from "@herald/dispatcher";
import { startManagementApi } from "@herald/management-api";
import { startPublisher } from "@herald/publisher";
import type { HeraldTuning } from "./in-process.ts";
import type { ServiceName } from "./processes.ts";

// Runs a service as its own entry does, with what no environment variable sets: `tuned-service.js NAME TUNING-AS-JSON`.
const [name = "", json = "{}"] = process.argv.slice(2);
const tuning = JSON.parse(json) as HeraldTuning;
const START = { "management-api": startManagementApi, publisher: startPublisher, dispatcher: startDispatcher };
await runService(name, () => START[name as ServiceName](process.env, { tuning }));
