import { boundHeap } from "@herald/common/service/memory";
import { runService } from "@herald/common/service/run-service";

boundHeap();
await runService("dispatcher", async () => (await import("./start-dispatcher.ts")).startDispatcher());
