/** A delivery that this process has claimed, with all that one attempt needs. */
export interface ClaimedDelivery {
  deliveryId: string;
  endpointId: string;
  organizationId: string;
  eventType: string;
  /** Which attempt this is: 1 to 5. */
  attempt: number;
  /** The request body, byte for byte. */
  body: string;
  /** As configured when it was claimed: a retry uses the current URL and the current secret (SPEC 2.3). */
  url: string;
  sealedSecret: string;
  /** The endpoint's revision then: a result of an older one does not count for or against the endpoint. */
  revision: bigint;
  /** Of this claim where it is traced, else the event's; null where there is none. */
  traceparent: string | null;
  createdAt: Date;
  /** When it comes due again for everybody, settled or not. */
  leasedUntil: Date;
}
