import { type Static, Type } from "typebox";
import { flag, uuid } from "./json-schema.ts";

/** Names a delivery that is due. Losing one loses no delivery: the due scan finds it half a minute later. */
export const hintSchema = Type.Object(
  {
    deliveryId: uuid("The delivery."),
    endpointId: uuid("Its endpoint, so that a dispatcher can weigh the endpoint's load before it claims."),
  },
  { $id: "https://herald.invalid/schemas/hint.json" },
);

export type Hint = Static<typeof hintSchema>;

/**
 * A dispatcher's answer to a manual hint, when the first attempt has been settled or was left to the due scan. The
 * delivery's summary is read from the database: PostgreSQL is the truth, and the answer only says that it is worth a look.
 */
export const manualReplySchema = Type.Object(
  {
    deliveryId: uuid("The delivery."),
    attempted: flag("False where no attempt was made: the delivery is attempted later."),
  },
  { $id: "https://herald.invalid/schemas/manual-reply.json" },
);

export type ManualReply = Static<typeof manualReplySchema>;
