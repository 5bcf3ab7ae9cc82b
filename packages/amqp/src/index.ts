export { type Authorities, type Connection, refusalIn, userOf, virtualHostOf, withHeartbeat } from "./connection.ts";
export {
  type Consumer,
  type ConsumerOptions,
  type IncomingMessage,
  startConsumer,
} from "./consumer.ts";
export { NotSentError, type NotSentReason } from "./errors.ts";
export { type BrokerLog, logOutages, type Outages } from "./outages.ts";
export { type OutgoingMessage, type Publisher, type PublisherOptions, startPublisher } from "./publisher.ts";
export { type BrokerScope, type ChannelSpec, maintainChannel, type RecoveringChannel } from "./recovering-channel.ts";
export { type BrokerScopeOptions, openBrokerScope } from "./scope.ts";
export { type Sender, type SentMessage, startSender } from "./sender.ts";
