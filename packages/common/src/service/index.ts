export { type OpenService, openService } from "./open-service.ts";
export { runService, type Service } from "./run-service.ts";
