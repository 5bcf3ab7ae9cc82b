/**
 * What is kept of an answer for the repetitions of its request: all but a signing secret. Kept so that it can be shown again, a
 * secret would lie open in the database, or under a key that this service would have to hold.
 */
export function keptAnswer(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null || !("signingSecret" in answer)) return answer;
  return { ...answer, signingSecret: null };
}
