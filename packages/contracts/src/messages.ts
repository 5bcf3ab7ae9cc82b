import { type Static, Type } from "typebox";
import { flag, organizationId, orNull, text, time, uuid } from "./json-schema.ts";

const endpointWithWorkSchema = Type.Object({ endpointId: uuid("The endpoint that has work."), organizationId });

/**
 * New deliveries, for the dispatcher that owns the endpoints' shards: of events that a publisher has stored, or of events that have arrived and that it
 * is about to store. Losing one loses nothing: what is stored without a result is due, and the owner looks there every few seconds.
 */
const handOverSchema = Type.Object(
  {
    stored: flag(
      "False if the events have only arrived. Publisher or owner stores their deliveries, whichever comes first.",
    ),
    events: Type.Array(
      Type.Object({
        eventType: text("The event's type."),
        body: text("The event, byte for byte."),
        traceparent: orNull(text("The event's trace context.")),
        key: uuid("The event's key."),
        receivedAtUtc: time("When it came. Its deliveries are made, and due, at this time."),
      }),
      { description: "The events of the deliveries." },
    ),
    deliveries: Type.Array(
      Type.Object({
        deliveryId: uuid("The delivery."),
        endpointId: uuid("Its endpoint."),
        organizationId,
        revision: text("The endpoint's revision, as a decimal number."),
        readAtUtc: time("When the endpoint had this revision."),
        event: Type.Integer({ minimum: 0, description: "Which of the events it delivers." }),
      }),
      { description: "New deliveries, with all that their first attempts need." },
    ),
    work: Type.Array(endpointWithWorkSchema, {
      description: "Endpoints that have more deliveries, which their owner reads from PostgreSQL.",
    }),
  },
  { $id: "urn:herald:schemas:hand-over" },
);

export type HandOver = Static<typeof handOverSchema>;

/** Notifies the owner of an endpoint that its configuration has changed, or that it was deleted. */
const endpointChangedSchema = Type.Object(
  { kind: Type.Literal("changed"), ...endpointWithWorkSchema.properties },
  { $id: "urn:herald:schemas:endpoint-changed" },
);

export type EndpointChanged = Static<typeof endpointChangedSchema>;

/** Asks for the first attempt of a manual delivery at once. The API's request waits until the delivery's row has the result. */
const manualRequestSchema = Type.Object(
  {
    kind: Type.Literal("manual"),
    deliveryId: uuid("The delivery."),
    endpointId: uuid("Its endpoint."),
    organizationId,
    dueAtUtc: time("When the delivery is due if no dispatcher attempts it for this request."),
    traceparent: orNull(text("The trace context of the request, whose trace the attempt continues.")),
  },
  { $id: "urn:herald:schemas:manual-request" },
);

export type ManualRequest = Static<typeof manualRequestSchema>;
