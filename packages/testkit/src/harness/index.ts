export type { KeyPair } from "../certificates/authority.ts";
export { certificates, type TestCertificates } from "./certificates.ts";
export { type EventuallyOptions, eventually } from "./eventually.ts";
export { type Statistics, type StoredHistory, storeHistory } from "./history.ts";
export {
  type Answer,
  type AnswerScript,
  type HttpsReceiver,
  type HttpsReceiverOptions,
  httpsReceiver,
  type ReceivedRequest,
} from "./https-receiver.ts";
export { plansOf, type Walks } from "./plans.ts";
export { insertDelivery, insertEndpoint, insertEvent, ROW_TIME } from "./rows.ts";
export { askForPrometheus, askForRabbitmqServer, STACK_TIMEOUT_MS } from "./stack-client.ts";
export { type SteeredClock, steeredClock } from "./steered-clock.ts";
export { type TestBroker, useBroker } from "./use-broker.ts";
export { type BrowserWindow, type TestBrowser, useBrowser } from "./use-browser.ts";
export { type TestDatabase, type TestDatabaseOptions, useDatabase } from "./use-database.ts";
