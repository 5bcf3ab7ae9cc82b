import { expect, test } from "@jest/globals";
import { keptAnswer } from "./answer-once.ts";

test("of the answer to a create all is kept but the signing secret, whose place is empty", () => {
  const answer = { endpoint: { id: "1", name: "Billing" }, signingSecret: "a secret" };
  expect(keptAnswer(answer)).toEqual({ endpoint: { id: "1", name: "Billing" }, signingSecret: null });
  expect(answer.signingSecret).toBe("a secret");
});

test.each([[{ id: "1", succeeded: true }], [null], ["text"]])("the answer %j is kept as it is", (answer) => {
  expect(keptAnswer(answer)).toEqual(answer);
});
