import { existsSync } from "node:fs";

// Plain JavaScript, so that it can say what to do on a fresh clone, where nothing is built yet.
const [name] = process.argv.splice(2, 1);
const command = new URL(`../dist/commands/${name}.js`, import.meta.url);
if (existsSync(command)) {
  await import(command.href);
} else {
  console.error(`Herald does not run here: nothing is built yet. Start it with "pnpm start".`);
  process.exitCode = 1;
}
