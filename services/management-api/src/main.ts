import { runService } from "@herald/common/service/run-service";
import { startManagementApi } from "./start-management-api.ts";

await runService("management-api", startManagementApi);
