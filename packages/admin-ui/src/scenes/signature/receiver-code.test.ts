import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { receiverCode } from "./receiver-code.ts";

// Files of "?raw" are the bundler's to import, so the list is read here.
const list = readFileSync(fileURLToPath(new URL("./ReceiverCode.tsx", import.meta.url)), "utf8");
const files = [...list.matchAll(/from "(.+)\?raw"/g)].map(([, file = ""]) => file);

test("the page shows eight receivers", () => {
  expect(files).toHaveLength(8);
});

test.each(files)("the receiver in %s names this Herald's headers", (file) => {
  const example = readFileSync(fileURLToPath(new URL(file, import.meta.url)), "utf8");
  const code = receiverCode(example, "Acme-Hook");
  expect(code).toMatch(/acme-hook-signature|`acme-hook-\$/i);
  expect(code).not.toMatch(/x-service/i);
});
