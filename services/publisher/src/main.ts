import { boundHeap } from "@herald/common/service/bounded-heap";
import { runService } from "@herald/common/service/run-service";

boundHeap();
await runService("publisher", async () => (await import("./start-publisher.ts")).startPublisher());
