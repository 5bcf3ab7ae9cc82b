import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { type Api, type TokenOptions, token } from "./use-api.ts";

export interface Downloaded {
  status: number;
  headers: IncomingMessage["headers"];
  /** As they came: nothing is decompressed. */
  bytes: Buffer;
}

/** A download that nobody has read yet: what the connection doesn't hold waits at the server. */
export interface OpenDownload {
  sent: ClientRequest;
  response: IncomingMessage;
  /** Reads it to its end. Throws where it breaks off. */
  read(): Promise<Buffer>;
}

export async function openDownload(
  { origin, config }: Pick<Api, "origin" | "config">,
  path: string,
  caller: TokenOptions,
  { method = "GET", headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<OpenDownload> {
  const authorization = `Bearer ${await token(caller)}`;
  const url = `${origin}${config.BASE_PATH}/api/organization/integration-operations${path}`;
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method, agent: false, headers: { ...headers, authorization } }, (response) => {
      // Until somebody reads, an error is kept for them.
      let failure: Error | undefined;
      response.on("error", (error) => {
        failure = error;
      });
      resolve({
        sent,
        response,
        async read() {
          if (failure) throw failure;
          const chunks: Buffer[] = [];
          for await (const chunk of response) chunks.push(chunk as Buffer);
          return Buffer.concat(chunks);
        },
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}

export async function download(...call: Parameters<typeof openDownload>): Promise<Downloaded> {
  const { response, read } = await openDownload(...call);
  const bytes = await read();
  return { status: response.statusCode ?? 0, headers: response.headers, bytes };
}
