/** Names a delivery that is due. Losing one loses no delivery: the due scan finds it half a minute later. */
export interface Hint {
  /** UUID. */
  deliveryId: string;
  /** UUID. Lets a dispatcher weigh the endpoint's load before it claims. */
  endpointId: string;
}

/** JSON Schema of a hint. */
export const hintSchema = {
  $id: "https://herald.invalid/schemas/hint.json",
  type: "object",
  required: ["deliveryId", "endpointId"],
  properties: {
    deliveryId: { type: "string", format: "uuid" },
    endpointId: { type: "string", format: "uuid" },
  },
} as const;

/**
 * A dispatcher's answer to a manual hint, when the first attempt has been settled or was left to the due scan.
 * The delivery's summary is read from the database: PostgreSQL is the truth, this only says that it is worth a look.
 */
export interface ManualReply {
  /** UUID. */
  deliveryId: string;
  /** False where no attempt was made (the delivery is attempted later). */
  attempted: boolean;
}

/** JSON Schema of that answer. */
export const manualReplySchema = {
  $id: "https://herald.invalid/schemas/manual-reply.json",
  type: "object",
  required: ["deliveryId", "attempted"],
  properties: {
    deliveryId: { type: "string", format: "uuid" },
    attempted: { type: "boolean" },
  },
} as const;
