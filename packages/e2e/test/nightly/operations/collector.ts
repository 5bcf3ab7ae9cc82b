import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A span as a collector gets it. */
export interface CollectedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  links: { traceId: string; spanId: string }[];
  attributes: Record<string, unknown>;
  error?: string;
}

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** Headers of the latest export. */
  headers: () => Record<string, unknown>;
  close(): Promise<void>;
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number };
}
interface OtlpSpan extends Omit<CollectedSpan, "service" | "attributes" | "error" | "links"> {
  links?: CollectedSpan["links"];
  attributes: Attribute[];
  status: { code: number; message?: string };
}
interface OtlpExport {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

/** Takes traces over OTLP/HTTP with JSON, as any collector does. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  let headers: Record<string, unknown> = {};
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url !== "/v1/traces") {
      response.writeHead(404).end();
      return;
    }
    headers = request.headers;
    spans.push(...spansIn(JSON.parse(Buffer.concat(chunks).toString()) as OtlpExport));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers: () => headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function spansIn({ resourceSpans }: OtlpExport): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ status, attributes, links = [], ...span }) => ({
        ...span,
        links,
        service: String(factsOf(resource.attributes)["service.name"]),
        attributes: factsOf(attributes),
        ...(status.code === 2 && { error: status.message ?? "" }),
      })),
    ),
  );
}

function factsOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}
