import { expressWebhook } from "@herald/receiver/express";
import Koa from "koa";
import { store } from "./store.mjs";

const app = new Koa();
const webhook = expressWebhook({ secret: process.env.WEBHOOK_SECRET, receive: store });
// Before a parser: the signature is over the exact bytes.
app.use(async (ctx, next) => {
  if (ctx.method !== "POST" || ctx.path !== "/webhooks") return next();
  ctx.respond = false;
  await webhook(ctx.req, ctx.res, ctx.onerror);
});

app.listen(Number(process.env.PORT ?? 8080), "127.0.0.1");
