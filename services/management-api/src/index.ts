export { type ManagementApiTuning, managementApiSettings, problemsOfManagementApi } from "./config.ts";
export { observe } from "./http/middleware.ts";
export { openApiDocument } from "./openapi/document.ts";
export { published } from "./openapi/published.ts";
export { startManagementApi } from "./start-management-api.ts";
