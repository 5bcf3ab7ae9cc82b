export { type CheckOptions, type CheckResult, checkReceiver } from "./check/check-receiver.ts";
export { requestMaker } from "./check/request-maker.ts";
export { type DescribeOptions, describeRequest } from "./listen/describe-request.ts";
export type { ForwardOptions } from "./listen/forward.ts";
export { type Listener, type ListenerOptions, startListener } from "./listen/listener.ts";
export { localCertificate } from "./listen/local-certificate.ts";
export {
  type ReceivedRequest,
  type ReceiveOptions,
  type Refused,
  receiveRequest,
  verdictOn,
} from "./listen/received-request.ts";
