/** As large as the bodies that Herald sends for the rig's events. */
export const SAMPLE_BODY = JSON.stringify({
  id: "0190a1b2-0000-7000-8000-0000000000bb",
  type: "WorkItemCompleted",
  occurredAtUtc: "2026-03-01T12:00:00.000Z",
  entityType: "WorkItem",
  entityId: "0190a1b2-0000-7000-8000-0000000000aa",
  data: {
    changes: {
      Status: { oldValue: "InProgress", newValue: "Done" },
      Emitted: { oldValue: null, newValue: "1772366400000.000" },
    },
  },
});
