export { startDispatcher } from "./start-dispatcher.ts";
