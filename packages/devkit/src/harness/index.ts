export { type EventuallyOptions, eventually } from "./eventually.ts";
export { insertDelivery, insertEndpoint, insertEvent, ROW_TIME } from "./rows.ts";
export { type SteeredClock, steeredClock } from "./steered-clock.ts";
export { type TestBroker, useBroker } from "./use-broker.ts";
export { type TestDatabase, useDatabase } from "./use-database.ts";
