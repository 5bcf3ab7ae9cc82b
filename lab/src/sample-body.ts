const SAMPLE = {
  id: "0190a1b2-0000-7000-8000-0000000000bb",
  type: "WorkItemCompleted",
  occurredAtUtc: "2026-03-01T12:00:00.000Z",
  entityType: "WorkItem",
  entityId: "0190a1b2-0000-7000-8000-0000000000aa",
};
const STATUS = { oldValue: "InProgress", newValue: "Done" };

/** As large as the bodies that Herald sends for the bench's events. */
export const SAMPLE_BODY = JSON.stringify({
  ...SAMPLE,
  data: { changes: { Status: STATUS, Emitted: { oldValue: null, newValue: "1772366400000.000" } } },
});

/** The same without a time, for events whose way is not measured; from behind the id, which each one has of its own. */
export const UNTIMED_BODY_REST = JSON.stringify({
  ...SAMPLE,
  data: { changes: { Status: STATUS, Reason: { oldValue: null, newValue: "beside the point" } } },
}).slice(`{"id":"${SAMPLE.id}`.length);
