/**
 * Failures of a broker have three severities. Each includes the one before:
 *
 * - **message**: one message was not sent. `publish` rejects with a {@link NotSentError}, and the caller decides.
 * - **channel**: the broker closed one channel (404, 406, an acknowledgement that took 30 minutes) or cancelled its
 *   consumer. Its unconfirmed messages count as not sent, or are sent again (`onChannelLost`); its unsettled messages are
 *   delivered again; a new channel is opened.
 * - **connection**: the socket or the broker has failed, and all channels with it. The connection recovers by itself, and
 *   the channels after it.
 *
 * Only the first severity reaches callers. The others go to `Outages` and show in `isReady()`.
 */
export type NotSentReason =
  /** No queue takes the message: no binding matches its routing key. */
  | "unroutable"
  /** The broker refused the message: a queue is full, or failed. */
  | "refused"
  /** The channel died before the broker confirmed; whether the message arrived is unknown. */
  | "channel-closed"
  /** The broker did not confirm in time; whether the message arrived is unknown. */
  | "unconfirmed"
  /** The message could not be sent to the broker in time: there is no connection, the connection is blocked, or the window is full. */
  | "unavailable"
  | "closed";

/**
 * A message that must count as not sent. With some reasons the broker may have the message all the same, so a caller that sends it
 * again needs consumers that can handle the same message twice.
 */
export class NotSentError extends Error {
  override readonly name = "NotSentError";
  readonly reason: NotSentReason;
  /** The reason in words, without the name of the message. */
  readonly detail: string;
  readonly messageId: string | undefined;

  /**
   * @param what names the message at the beginning of the error's text
   * @param advice a sentence at its end
   */
  constructor(
    reason: NotSentReason,
    detail: string,
    { what, messageId, advice }: { what: string; messageId?: string | undefined; advice?: string },
  ) {
    super(`${what} was not sent: ${detail}.${advice === undefined ? "" : ` ${advice}`}`);
    this.reason = reason;
    this.detail = detail;
    this.messageId = messageId;
  }
}
