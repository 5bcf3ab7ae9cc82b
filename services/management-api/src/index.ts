export { managementApiSettings } from "./config.ts";
export { startManagementApi } from "./start-management-api.ts";
