let openTelemetry: typeof import("@opentelemetry/api") | undefined;

/** Until it is known whether the service has OpenTelemetry's API, which is a moment after the start. */
let loading: Promise<void> | undefined = import("@opentelemetry/api").then(
  (api) => {
    openTelemetry = api;
    loading = undefined;
  },
  () => {
    loading = undefined;
  },
);

/** Await this before {@link callerTrace}, and only if it is defined: later calls then run at once, in the caller's order. */
export const traceLoading = (): Promise<void> | undefined => loading;

/**
 * The trace context to send with an event: as the caller gave it; else of the caller's active span, by OpenTelemetry's API and the
 * propagators that the service has registered; undefined if there is neither. A `null` of the caller's is no trace, whatever is active.
 */
export function callerTrace({ traceparent }: { traceparent?: string | null }): string | undefined {
  if (traceparent !== undefined) return traceparent ?? undefined;
  if (openTelemetry === undefined) return undefined;
  const carrier: { traceparent?: string } = {};
  openTelemetry.propagation.inject(openTelemetry.context.active(), carrier);
  return carrier.traceparent;
}
