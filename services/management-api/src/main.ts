import { boundHeap } from "@herald/common/service/bounded-heap";
import { runService } from "@herald/common/service/run-service";

boundHeap();
await runService("management-api", async () => (await import("./start-management-api.ts")).startManagementApi());
