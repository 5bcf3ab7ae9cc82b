import "reflect-metadata";
import { expressWebhook } from "@herald/receiver/express";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { store } from "./store.mjs";

// In TypeScript: @Module({}) class AppModule {}
class AppModule {}
Module({})(AppModule);

const app = await NestFactory.create(AppModule);
// Before app.listen(), which adds Nest's own parsers: the signature is over the exact bytes.
// app.get(Service) gives `receive` what the application injects elsewhere.
app.getHttpAdapter().post("/webhooks", expressWebhook({ secret: process.env.WEBHOOK_SECRET, receive: store }));

await app.listen(Number(process.env.PORT ?? 8080), "127.0.0.1");
