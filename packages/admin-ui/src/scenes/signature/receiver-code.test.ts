import { expect, test } from "@jest/globals";
import { LANGUAGES, receiverCode } from "./receiver-code.ts";

test.each(LANGUAGES)("the receiver in %s names this Herald's headers", (language) => {
  const code = receiverCode(language, "Acme-Hook");
  expect(code).toMatch(/acme-hook-signature|`acme-hook-\$/i);
  expect(code).not.toMatch(/x-service/i);
});
