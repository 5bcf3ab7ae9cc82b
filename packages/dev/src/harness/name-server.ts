import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

export type QuestionKind = "A" | "AAAA";

/** The server's answer to one question. */
export type NameAnswer =
  /** The name's addresses, of both families: of these, a question gets the ones of its kind. */
  | readonly string[]
  /** Addresses so long after each question, as of a zone that is far away. */
  | { afterMs: number; addresses: readonly string[] }
  /** NXDOMAIN: there is no such name. */
  | "unknown"
  /** SERVFAIL: the server could not find it out. */
  | "failed"
  /** REFUSED: the server does not answer for this client. */
  | "refused"
  /** Nothing at all. */
  | "silence";

/** One answer for all questions, or a choice by name (in lower case) and kind. */
export type NameScript = NameAnswer | ((name: string, kind: QuestionKind) => NameAnswer);

/**
 * Connecting to this address fails at once with ENETUNREACH, and no packet leaves the machine: it is the broadcast
 * address of the loopback. It is in 127.0.0.0/8, where tests allow receivers.
 */
export const NO_ROUTE = "127.255.255.255";

export type NameServer = Awaited<ReturnType<typeof nameServer>>;

/**
 * A random port below those that the system gives to clients. Such a port could become the port of a client of a server that has died: then c-ares gets its
 * own question back, and takes it for an answer without addresses (once in 12,000 questions).
 */
const serverPort = () => 10_000 + Math.floor(Math.random() * 20_000);

/** A DNS server on the loopback, over UDP. Close it in `afterEach` or `afterAll`. */
export async function nameServer(script: NameScript = ["127.0.0.1"]) {
  const questions: string[] = [];
  let current = script;
  let socket: Socket | undefined;
  while (socket === undefined) socket = await listen(serverPort()).catch(() => undefined);
  const { port } = socket.address() as AddressInfo;

  async function listen(onPort: number): Promise<Socket> {
    const listening = createSocket("udp4");
    listening.on("message", (message, sender) => {
      const { reply, afterMs = 0 } = replyTo(message);
      if (!reply) return;
      // The client, or this server, may have closed its socket; the next client must not be affected.
      const send = () => listening === socket && listening.send(reply, sender.port, sender.address, () => {});
      if (afterMs === 0) send();
      else setTimeout(send, afterMs).unref();
    });
    listening.bind(onPort, "127.0.0.1");
    await once(listening, "listening");
    return listening;
  }

  function replyTo(message: Buffer): { reply?: Buffer; afterMs?: number } {
    const question = readQuestion(message);
    const { name, kind } = question;
    // c-ares asks for nothing else.
    if (kind === undefined) return { reply: reply(message, question, NOT_IMPLEMENTED, []) };
    questions.push(`${kind} ${name}`);
    const answer = typeof current === "function" ? current(name, kind) : current;
    if (answer === "silence") return {};
    if (typeof answer === "string") return { reply: reply(message, question, CODES[answer], []) };
    const { afterMs, addresses } = "afterMs" in answer ? answer : { afterMs: 0, addresses: answer };
    const data = addresses.filter((address) => address.includes(":") === (kind === "AAAA")).map(bytesOf);
    return { reply: reply(message, question, 0, data), afterMs };
  }

  /** Ends the server as if its process had died: its port is closed, and a client gets ECONNREFUSED. */
  async function die(): Promise<void> {
    if (!socket) return;
    const closed = once(socket, "close");
    socket.close();
    socket = undefined;
    await closed;
  }

  return {
    /** As the setting `DNS_SERVERS` takes it. */
    address: `127.0.0.1:${port}`,
    /** The questions so far, in order, as "A name" or "AAAA name". */
    questions,
    /** Changes how questions from now on are answered. */
    answerWith(next: NameScript) {
      current = next;
    },
    die,
    /** After `die`: answers again, on the same port. */
    async revive() {
      socket ??= await listen(port);
    },
    close: die,
  };
}

const CODES = { unknown: 3, failed: 2, refused: 5 } as const;
const NOT_IMPLEMENTED = 4;
const KINDS = new Map<number, QuestionKind>([
  [1, "A"],
  [28, "AAAA"],
]);

/** RFC 1035, as much of it as one question and its answers take. */
interface Question {
  name: string;
  kind: QuestionKind | undefined;
  type: number;
  /** Where the question ends in its message. */
  end: number;
}

const HEADER_BYTES = 12;

function readQuestion(message: Buffer): Question {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = message.readUInt16BE(at + 1);
  return { name: labels.join(".").toLowerCase(), kind: KINDS.get(type), type, end: at + 5 };
}

function reply(message: Buffer, { type, end }: Question, code: number, data: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  message.copy(header, 0, 0, 2);
  // A response; recursion was desired, and is available.
  header.writeUInt16BE(0x8180 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(data.length, 6);
  const records = data.map((address) => {
    // The question's name, by a pointer to it; class IN; valid for a second.
    const head = Buffer.from("c00c0000000100000001ffff", "hex");
    head.writeUInt16BE(type, 2);
    head.writeUInt16BE(address.length, 10);
    return Buffer.concat([head, address]);
  });
  return Buffer.concat([header, message.subarray(HEADER_BYTES, end), ...records]);
}

/** The bytes of an address as text; an IPv6 one may leave groups out ("::"). */
function bytesOf(address: string): Buffer {
  if (!address.includes(":")) return Buffer.from(address.split(".").map(Number));
  const [front = "", back] = address.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const [first, last] = [groups(front), groups(back ?? "")];
  const left = 8 - first.length - last.length;
  const all = [...first, ...Array<string>(back === undefined ? 0 : left).fill("0"), ...last];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}
