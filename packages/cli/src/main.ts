#!/usr/bin/env node
import { boundHeap } from "@herald/common/service/memory";

const words = process.argv.slice(2);
// Before the commands are loaded: the program may begin once more.
if (words[0] === "serve") boundHeap();
const { herald } = await import("./herald.ts");
process.exitCode = await herald(words, {
  environment: process.env,
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
});
