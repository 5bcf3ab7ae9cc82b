import { boundHeap } from "@herald/common/service/memory";
import { runService } from "@herald/common/service/run-service";

boundHeap();
await runService("management-api", async () => (await import("./start-management-api.ts")).startManagementApi());
