import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type TlsOptions, Server as TlsServer } from "node:tls";

/** A server on loopback that counts its connections. */
export interface Receiver {
  port: number;
  /** Connections that are open now. */
  open(): number;
  /** Connections that there ever were. */
  accepted(): number;
  /**
   * Reads all bytes from now on, also from connections whose handshake ends later: a socket that is not read does not
   * notice that the other side has closed it.
   */
  drain(): void;
  /** Ends a connection with RST instead of FIN; TLS sockets cannot do that themselves. */
  reset(socket: Socket): void;
  close(): Promise<void>;
}

export interface ReceivedRequest {
  rawHeaders: string[];
  headers: IncomingMessage["headers"];
  url: string;
  method: string;
  body: Buffer;
}

/** Answers with a script, byte by byte: called with each connection once its TLS handshake is done. */
export async function rawReceiver(tls: TlsOptions, onConnection: (socket: TLSSocket) => void): Promise<Receiver> {
  return listen(
    createTlsServer(tls, (socket) => {
      socket.on("error", () => {});
      onConnection(socket);
    }),
  );
}

/** As {@link rawReceiver}, once the headers of a request have come in; for each request of the connection. */
export async function scriptedReceiver(
  tls: TlsOptions,
  onRequest: (socket: TLSSocket, text: string) => void,
): Promise<Receiver> {
  return rawReceiver(tls, (socket) => {
    socket.on("data", (chunk) => {
      if (chunk.includes("\r\n\r\n")) onRequest(socket, chunk.toString());
    });
  });
}

/** Speaks no TLS at all. */
export async function tcpReceiver(
  onConnection: (socket: Socket) => void,
  host = "127.0.0.1",
  port = 0,
): Promise<Receiver> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    onConnection(socket);
  });
  return listen(server, host, port);
}

/** A well-behaved receiver that keeps what it got. */
export async function wellBehavedReceiver(
  tls: TlsOptions,
  answer: (request: ReceivedRequest, response: ServerResponse) => void = (_request, response) => response.end("ok"),
  { host = "127.0.0.1", port = 0 } = {},
): Promise<Receiver & { requests: ReceivedRequest[] }> {
  const requests: ReceivedRequest[] = [];
  const server = createHttpsServer(tls, async (message, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk);
    const { rawHeaders, headers, url = "", method = "" } = message;
    const request = { rawHeaders, headers, url, method, body: Buffer.concat(chunks) };
    requests.push(request);
    answer(request, response);
  });
  // It never closes an idle connection itself, so that a closed one was closed by the sender.
  server.keepAliveTimeout = 0;
  return { ...(await listen(server, host, port)), requests };
}

export interface ConnectProxy extends Receiver {
  /** Its requests in their order: the target, and the credentials. */
  asked: { authority: string; authorization: string | undefined }[];
  /** Answers with these bytes, and makes no tunnel; undefined ends that. */
  answerWith(text: string | undefined): void;
  /** Opens tunnels with these bytes; with its usual ones if absent. */
  openWith(text?: string): void;
}

const ESTABLISHED = "HTTP/1.1 200 Connection established\r\n\r\n";

/** An HTTP proxy that makes tunnels to addresses, and refuses names. */
export async function connectProxy(): Promise<ConnectProxy> {
  const asked: ConnectProxy["asked"] = [];
  let answer: string | undefined;
  let opened = ESTABLISHED;
  const server = createHttpServer();
  server.on("connect", ({ url = "", headers }: IncomingMessage, socket: Socket) => {
    asked.push({ authority: url, authorization: headers.authorization ?? headers["proxy-authorization"] });
    const place = /^(?:\[([0-9a-f:]+)\]|([0-9.]+)):(\d+)$/.exec(url);
    if (answer !== undefined) return socket.write(answer);
    if (!place) return socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    const onward = connect({ host: place[1] ?? place[2] ?? "", port: Number(place[3]) });
    socket.on("close", () => onward.destroy());
    onward.on("close", () => socket.destroySoon());
    const refuse = () => socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    onward.once("error", refuse);
    onward.once("connect", () => {
      onward.off("error", refuse).on("error", () => socket.resetAndDestroy());
      socket.write(opened);
      onward.pipe(socket).pipe(onward);
    });
  });
  const answerWith = (text: string | undefined) => {
    answer = text;
  };
  const openWith = (text = ESTABLISHED) => {
    opened = text;
  };
  return { ...(await listen(server)), asked, answerWith, openWith };
}

async function listen(server: Server, host = "127.0.0.1", port = 0): Promise<Receiver> {
  const sockets = new Set<Socket>();
  /** The streams of scripts: TLS sockets, if there are any. */
  const streams = new Set<Socket>();
  let accepted = 0;
  server.on("connection", (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  const ready = server instanceof TlsServer ? "secureConnection" : "connection";
  let draining = false;
  // Behind the script's own listener, which may have paused the socket.
  server.on(ready, (socket: Socket) => {
    streams.add(socket);
    if (draining) socket.resume();
  });
  server.on("tlsClientError", () => {});
  server.listen(port, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    accepted: () => accepted,
    drain() {
      draining = true;
      for (const socket of streams) socket.resume();
    },
    reset(socket) {
      for (const connection of sockets) {
        if (connection.remotePort === socket.remotePort) connection.resetAndDestroy();
      }
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      const closed = once(server, "close");
      server.close();
      await closed;
    },
  };
}
