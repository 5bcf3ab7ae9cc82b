import { NO_DELIVERY_REASONS, type NoDeliveryReason } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { reasonWords } from "./reason-words.ts";

test.each(Object.keys(NO_DELIVERY_REASONS) as NoDeliveryReason[])("the page has words for the reason %s", (reason) => {
  const { short, sentence } = reasonWords(reason);
  expect(short).toMatch(/^[A-Z]/);
  expect(sentence).not.toMatch(/endpoint/i);
});
