import { openBrokerScope, startConsumer } from "@herald/amqp";
import nodemailer from "nodemailer";
import { isKnown, mailOf } from "./mail.mjs";
import { recipientsOf } from "./recipients.mjs";

const { AMQP_URL, SMTP_URL, MAIL_FROM, PAGE_URL, QUEUE = "product.notices", BROKER_NAMESPACE = "herald" } = process.env;
const notices = `${BROKER_NAMESPACE}.notices`;
const failed = `${QUEUE}.failed`;

/** One line for each, with the words of an error and not its insides. */
const line =
  (write) =>
  (message, { error, ...fields } = {}) =>
    write(message, { ...fields, ...(error && { reason: error.message }) });
const log = { debug() {}, info: line(console.log), warn: line(console.warn), error: line(console.error) };

const transport = nodemailer.createTransport({ url: SMTP_URL, pool: true, maxConnections: 2 });

/** Notices that this process has mailed. The broker may bring one again, and then its mail is not sent again. */
const mailed = new Set();
const REMEMBERED = 10_000;

const scope = openBrokerScope({
  url: AMQP_URL,
  name: "notify-by-mail",
  outages: { down: (what, error) => log.warn(`${what}: ${error.message}`), up() {} },
  // Runs on each new channel. Everything begins with "product.", which is what the broker's user `product` may make.
  async declare(channel) {
    await channel.checkExchange(notices);
    await channel.assertExchange(failed, "fanout", { durable: true });
    await channel.assertQueue(failed, { durable: true, arguments: { "x-queue-type": "quorum" } });
    await channel.bindQueue(failed, failed, "");
    await channel.assertQueue(QUEUE, {
      durable: true,
      arguments: { "x-queue-type": "quorum", "x-dead-letter-exchange": failed, "x-delivery-limit": 100 },
    });
    await channel.bindQueue(QUEUE, notices, "#");
  },
});

startConsumer(scope, { queue: QUEUE, prefetch: 10, handle }, { log });

/**
 * Sends the mail of a notice, and acknowledges it then. What this throws means "not now": the consumer keeps the notice and calls
 * again, after a pause that grows to half a minute. What can never be mailed is set aside in the queue of failed ones.
 */
async function handle(message) {
  const notice = readNotice(message.content);
  if (notice === undefined) return setAside(message, "it is no notice");
  if (!isKnown(notice) || mailed.has(notice.id)) return message.ack();
  const to = await recipientsOf(notice);
  if (to.length === 0) return message.ack();
  try {
    const { rejected } = await transport.sendMail({ ...mailOf(notice, { from: MAIL_FROM, pageUrl: PAGE_URL }), to });
    if (rejected.length > 0) log.warn("some recipients were refused", { notice: notice.id, refused: rejected.length });
  } catch (error) {
    if (isForEver(error)) return setAside(message, error.message);
    throw error;
  }
  remember(notice.id);
  message.ack();
}

function readNotice(content) {
  try {
    const notice = JSON.parse(content.toString("utf8"));
    const isNotice =
      typeof notice.id === "string" && typeof notice.type === "string" && typeof notice.reason === "string";
    return isNotice && (notice.type === "event.rejected" || notice.endpoint) ? notice : undefined;
  } catch {
    return undefined;
  }
}

/** The mail server has refused the mail, and not this program: 4xx, a failed sign-in and a lost connection are worth another try. */
function isForEver({ code, responseCode }) {
  return responseCode >= 500 && code !== "EAUTH" && ![530, 534, 535, 538].includes(responseCode);
}

function setAside(message, reason) {
  log.error("a notice can't be mailed, and is set aside", { queue: failed, reason });
  message.reject();
}

function remember(id) {
  mailed.add(id);
  if (mailed.size > REMEMBERED) mailed.delete(mailed.values().next().value);
}

// What is being mailed is finished first; what waits stays in the queue.
for (const signal of ["SIGTERM", "SIGINT"]) {
  process.once(signal, async () => {
    await scope.close();
    transport.close();
  });
}
