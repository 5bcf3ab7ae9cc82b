export { type Broker, type BrokerOptions, connectBroker } from "./broker.ts";
export { carriedHeaders } from "./carried-headers.ts";
export type { Consumer, ConsumerOptions, IncomingMessage } from "./consumer.ts";
export { NotSentError, type NotSentReason } from "./errors.ts";
export type { Inspector, QueueDepth } from "./inspector.ts";
export type { BrokerLog } from "./outages.ts";
export type { OutgoingMessage, Publisher, PublisherOptions } from "./publisher.ts";
export type { Request, Requester } from "./requester.ts";
export { declareTopology, type Names, names } from "./topology.ts";
