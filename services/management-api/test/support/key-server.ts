import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { JWK } from "jose";

/** A key server that can change its keys, fail and count. */
export class KeyServer {
  keys: JWK[] = [];
  status = 200;
  requests = 0;
  #server: Server | undefined;
  #port = 0;

  async start(): Promise<void> {
    this.#server = createServer((_request, response) => {
      this.requests++;
      response.writeHead(this.status, { "content-type": "application/json" });
      response.end(this.status === 200 ? JSON.stringify({ keys: this.keys }) : "no");
    });
    await new Promise<void>((resolve) => this.#server?.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve) ?? resolve(undefined));
    this.#server = undefined;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.#port}/jwks.json`);
  }
}
