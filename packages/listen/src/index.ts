export { type CheckOptions, type CheckResult, checkReceiver } from "../check/check-receiver.ts";
export { ExchangeError, exchange, type ReceiverAnswer } from "../send/exchange.ts";
export { type OutgoingRequest, signedRequest, type ToSign } from "../send/signed-request.ts";
export { type DescribeOptions, describeRequest } from "./describe-request.ts";
export type { ForwardOptions } from "./forward.ts";
export { type Listener, type ListenerOptions, startListener } from "./listener.ts";
export {
  type ReceivedRequest,
  type ReceiveOptions,
  type Refused,
  receiveRequest,
  verdictOn,
} from "./received-request.ts";
