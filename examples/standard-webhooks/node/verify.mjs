// npm install standardwebhooks
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

// The secret as the page showed it: the library decodes it itself.
const webhook = new Webhook(process.env.WEBHOOK_SECRET);

const [id, timestamp, signature] = process.argv.slice(2);
const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
const rawBody = readFileSync(0, "utf8");
const event = webhook.verify(rawBody, headers); // throws where it does not verify
console.log(event);
