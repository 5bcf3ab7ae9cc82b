/**
 * What goes wrong with a broker comes in three severities, each holding the one before:
 *
 * - **message**: one message was not sent. Its publisher is told with a {@link NotSentError} and decides.
 * - **channel**: the broker closed one channel (404, 406, an acknowledgement that took 30 minutes) or cancelled its
 *   consumer. Its unconfirmed messages count as not sent, its unsettled ones come again; the channel is opened anew.
 * - **connection**: the socket or the broker is gone, and all channels with it. The connection recovers by itself, and
 *   the channels after it.
 *
 * Only the first reaches callers. The others are logged once per outage and show in `isReady()`.
 */
export type NotSentReason =
  /** No queue takes it: nothing is bound for its routing key. */
  | "returned"
  /** The broker said no: a queue's limit, or a failure inside of it. */
  | "refused"
  /** The channel died before the broker confirmed; whether the message arrived is unknown. */
  | "channel-closed"
  /** The broker did not confirm in time; whether the message arrived is unknown. */
  | "unconfirmed"
  /** It could not be handed to the broker in time: no connection, a blocked one, or a full window. */
  | "unavailable"
  /** The publisher has been closed. */
  | "closed";

/**
 * A message that must count as not sent. For some reasons the broker may have it all the same, so whoever sends it again
 * relies on consumers that do the same message twice without harm.
 */
export class NotSentError extends Error {
  readonly reason: NotSentReason;

  constructor(reason: NotSentReason, target: { exchange: string; routingKey: string }, detail: string) {
    const where = target.exchange === "" ? `queue ${target.routingKey}` : `${target.exchange} (${target.routingKey})`;
    super(`The message to ${where} was not sent: ${detail}.`);
    this.name = "NotSentError";
    this.reason = reason;
  }
}
