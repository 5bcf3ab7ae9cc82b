import { runService } from "@herald/common/runtime";
import { startManagementApi } from "./start-management-api.ts";

await runService("management-api", startManagementApi);
