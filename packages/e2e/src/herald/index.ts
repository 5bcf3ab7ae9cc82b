export { type ApiClient, apiClient } from "./api-client.ts";
export { type Herald, type HeraldOptions, startHerald } from "./in-process.ts";
export { type HeraldPlace, JWT_SECRET } from "./settings.ts";
