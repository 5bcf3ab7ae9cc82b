import { boundHeap } from "@herald/common/service/memory";
import { runService } from "@herald/common/service/run-service";

// Large events are garbage outside the heap: the more room it has, the later V8 looks for them.
boundHeap(1 / 3);
await runService("publisher", async () => (await import("./start-publisher.ts")).startPublisher());
