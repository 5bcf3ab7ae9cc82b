/** Where a test file's exchanges and queues are. */
export interface BrokerPlace {
  url: string;
  /** How many connections are open now. */
  countConnections(): Promise<number>;
  /** Names of what is open once connections that are just closing have had time to go. */
  connectionsAfterGrace(): Promise<string[]>;
  closeConnections(): Promise<void>;
  remove(): Promise<void>;
}
