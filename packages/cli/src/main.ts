#!/usr/bin/env node
import { boundHeap } from "@herald/common/service/bounded-heap";
import { herald } from "./herald.ts";

const words = process.argv.slice(2);
if (words[0] === "serve") boundHeap();
process.exitCode = await herald(words, {
  environment: process.env,
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
});
