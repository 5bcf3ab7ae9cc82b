export { startManagementApi } from "./start-management-api.ts";
