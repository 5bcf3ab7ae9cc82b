#!/usr/bin/env node
// Tells a person that a unit failed, or that herald-check has news: posts {"text": ...} to the URL in /etc/herald/alarm-url, as chats and pagers take it.
// node herald-alarm.mjs UNIT
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

const unit = process.argv[2];
const url = readFileSync("/etc/herald/alarm-url", "utf8").trim();
const lines = execFileSync("journalctl", ["--unit", unit, "--lines", "20", "--output", "short-iso", "--no-pager"], {
  encoding: "utf8",
});
const response = await fetch(url, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ text: `${unit} on ${hostname()}:\n${lines}` }),
  signal: AbortSignal.timeout(30_000),
});
if (!response.ok) throw new Error(`The address in /etc/herald/alarm-url answered ${response.status}.`);
