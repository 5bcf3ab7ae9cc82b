export { type DescribeOptions, describeRequest } from "./describe-request.ts";
export { type Listener, type ListenerOptions, startListener } from "./listener.ts";
export {
  type ReceivedRequest,
  type ReceiveOptions,
  type Refused,
  receiveRequest,
  verdictOn,
} from "./received-request.ts";
