import { open, readFile, truncate } from "node:fs/promises";

// One line of JSON for each event. In your program this is a table with a unique key on the id.
const path = process.env.EVENTS_FILE ?? "events.jsonl";
const file = await open(path, "a");
const text = await readFile(path, "utf8");
// A process that was killed may leave half a line, whose event was not answered for.
const whole = text.slice(0, text.lastIndexOf("\n") + 1);
await truncate(path, Buffer.byteLength(whole));

/** The id of each event that was taken, with the promise that it is on disk. */
const stored = new Map();
for (const line of whole.split("\n").slice(0, -1)) stored.set(JSON.parse(line).eventId, Promise.resolve());

/** Stores the event, once for each id, since it may come twice. It is on disk when this resolves. Work on it afterwards. */
export async function store({ event, eventId, body }) {
  // The body as it came: it may be any JSON, and text that is none.
  const line = { event, eventId, body: Buffer.from(body).toString() };
  // A manual payload may have no id: each is stored.
  if (eventId === null) return write(line);
  if (!stored.has(eventId)) {
    stored.set(eventId, write(line));
    stored.get(eventId).catch(() => stored.delete(eventId));
  }
  await stored.get(eventId);
}

async function write(line) {
  await file.appendFile(`${JSON.stringify(line)}\n`);
  await file.datasync();
}
