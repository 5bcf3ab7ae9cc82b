import { attemptHeaders } from "@herald/common/security/attempt-headers";
import { signedRequest } from "@herald/listen";
import { expect, test } from "@jest/globals";

test("§4.2/headers §4.3.3 a sample that herald-listen sends has the headers of an attempt, one by one", () => {
  const secret = "mT1y+Zq0v9u4m2l8J7hF3kD5sA6pW1xC0eR9tYbNvQs=";
  const startedAt = new Date("2026-11-20T09:30:00.400Z");
  const body = Buffer.from('{"id":"0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6e","name":"Größe"}');
  const attempt = { deliveryId: "0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6f", eventType: "RiskCreated", body };
  for (const headerPrefix of ["X-Service", "Acme"]) {
    const sent = signedRequest({ ...attempt, secret, now: startedAt, headerPrefix });
    const real = attemptHeaders({ ...attempt, startedAt }, { headerPrefix, standardWebhooks: true }, secret);
    expect(sent).toEqual({ method: "POST", headers: real, body });
  }
});
