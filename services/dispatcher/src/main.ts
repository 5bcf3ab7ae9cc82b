import { boundHeap } from "@herald/common/service/bounded-heap";
import { runService } from "@herald/common/service/run-service";

boundHeap();
await runService("dispatcher", async () => (await import("./start-dispatcher.ts")).startDispatcher());
