/**
 * - `pending`: an attempt is due, now or later
 * - `parked`: set aside because its endpoint is disabled
 * - `succeeded`, `exhausted`: nothing more happens
 */
export const DELIVERY_STATES = ["pending", "parked", "succeeded", "exhausted"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/**
 * How a delivery stands, for filters and counts: `waiting` has had no attempt, `failing` had a failed one and may get
 * another, `exhausted` gets none.
 */
export const OUTCOMES = ["succeeded", "waiting", "failing", "exhausted"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * What a notice can say; its routing key on the exchange `herald.notices`, and its `type`.
 *
 * - `endpoint.failing`: so many attempts in a row failed that a person should look; Herald goes on sending
 * - `endpoint.disabled`: more failed, and Herald stopped sending until an admin resumes the endpoint (SPEC 3.1)
 */
export const NOTICE_TYPES = ["endpoint.failing", "endpoint.disabled"] as const;
export type NoticeType = (typeof NOTICE_TYPES)[number];

/** What happened to an endpoint's settings. */
export const CHANGE_KINDS = ["created", "edited", "paused", "resumed", "disabled"] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** Who changed them. */
export const CHANGED_BY = ["admin", "operator", "herald"] as const;
export type ChangedBy = (typeof CHANGED_BY)[number];
