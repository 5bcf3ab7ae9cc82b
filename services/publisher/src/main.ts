import { boundHeap } from "@herald/common/service/memory";
import { runService } from "@herald/common/service/run-service";

boundHeap("publisher");
await runService("publisher", async () => (await import("./start-publisher.ts")).startPublisher());
