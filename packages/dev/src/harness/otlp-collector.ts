import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A span as a collector gets it. */
export interface CollectedSpan {
  service: string;
  name: string;
  /** As OTLP counts: 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  links: { traceId: string; spanId: string }[];
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
  /** In words; empty if none were given, absent if the span did not fail. */
  error?: string;
}

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number };
type Attribute = { key: string; value: Value };
type Resource = { resource: { attributes: Attribute[] } };
interface OtlpSpan extends Pick<CollectedSpan, "name" | "kind" | "traceId" | "spanId" | "parentSpanId"> {
  links?: CollectedSpan["links"];
  attributes?: Attribute[];
  status?: { code?: number; message?: string };
}
interface OtlpExport {
  resourceSpans?: (Resource & { scopeSpans: { spans: OtlpSpan[] }[] })[];
}

/** Takes traces over OTLP/HTTP with JSON, and keeps them. */
export async function startCollector() {
  const spans: CollectedSpan[] = [];
  let headers: Record<string, unknown> = {};
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (request.url !== "/v1/traces") {
      response.writeHead(404).end();
      return;
    }
    headers = request.headers;
    const { resourceSpans = [] } = JSON.parse(body) as OtlpExport;
    spans.push(...spansIn(resourceSpans));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    /** Headers of the latest export. */
    headers: () => headers,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function spansIn(resourceSpans: NonNullable<OtlpExport["resourceSpans"]>): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource: { attributes: ofResource }, scopeSpans }) => {
    const resource = factsOf(ofResource);
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ status, attributes, links = [], ...span }) => ({
        ...span,
        links,
        service: String(resource["service.name"]),
        resource,
        attributes: factsOf(attributes),
        ...(status?.code === 2 && { error: status.message ?? "" }),
      })),
    );
  });
}

function factsOf(attributes: readonly Attribute[] = []): Record<string, unknown> {
  const read = ({ stringValue, intValue, doubleValue }: Value) =>
    stringValue ?? (intValue === undefined ? doubleValue : Number(intValue));
  return Object.fromEntries(attributes.map(({ key, value }) => [key, read(value)]));
}
