export { type DemoReceiver, type DemoReceiverOptions, startDemoReceiver } from "./demo-receiver.ts";
export type { LoggedRequest } from "./request-log.ts";
