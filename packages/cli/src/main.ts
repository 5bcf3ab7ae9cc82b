#!/usr/bin/env node
import { herald } from "./herald.ts";

process.exitCode = await herald(process.argv.slice(2), {
  environment: process.env,
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
});
