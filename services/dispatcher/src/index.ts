export { dispatcherSettings } from "./config.ts";
export { startDispatcher } from "./start-dispatcher.ts";
