import { type Static, Type } from "typebox";
import { flag, organizationId, orNull, text, time, uuid } from "./json-schema.ts";

const hintedDeliverySchema = Type.Object(
  {
    deliveryId: uuid("The delivery."),
    eventType: text("The event's type."),
    body: text("The event, byte for byte."),
    traceparent: orNull(text("The event's trace context.")),
    revision: text("The endpoint's revision when the delivery was made, as a decimal number."),
    createdAtUtc: time("When the delivery was made."),
    leasedUntilUtc: time(
      "Until then no other dispatcher claims the delivery. One that has much less time left must not begin.",
    ),
  },
  { description: "A new delivery that is leased to this hint, for its first attempt without a claim." },
);

export type HintedDelivery = Static<typeof hintedDeliverySchema>;

/** Says that an endpoint has deliveries that are due. Losing one loses nothing: the due scan finds the endpoint seconds later. */
export const hintSchema = Type.Object(
  {
    endpointId: uuid("The endpoint that has work."),
    organizationId,
    hops: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "How often a dispatcher without a share of the endpoint's concurrency has sent the hint on.",
      }),
    ),
    delivery: Type.Optional(hintedDeliverySchema),
  },
  { $id: "urn:herald:schemas:hint" },
);

export type Hint = Static<typeof hintSchema>;

/** Asks for the first attempt of a manual delivery, for whose result an API request waits. */
export const manualRequestSchema = Type.Object(
  {
    deliveryId: uuid("The delivery."),
    endpointId: uuid("Its endpoint, so that a dispatcher can weigh the endpoint's load before it claims."),
    organizationId,
  },
  { $id: "urn:herald:schemas:manual-request" },
);

export type ManualRequest = Static<typeof manualRequestSchema>;

/**
 * A dispatcher's answer to a manual request, when the first attempt has been settled or was left to the due scan. The
 * delivery's summary is read from the database: PostgreSQL is the truth, and the answer only says that it is worth a look.
 */
export const manualReplySchema = Type.Object(
  {
    deliveryId: uuid("The delivery."),
    attempted: flag("False where no attempt was made: the delivery is attempted later."),
  },
  { $id: "urn:herald:schemas:manual-reply" },
);

export type ManualReply = Static<typeof manualReplySchema>;
