import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { beforeAll, expect, test } from "@jest/globals";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment({ sharedOrganization: true, dispatcher: false });
/** In winter, in the morning of one zone and in the afternoon of the other. */
const AT = "2026-01-31T14:03:22.187Z";
let place: string;

beforeAll(async () => {
  const { prisma } = environment.db.database;
  const webhook = await insertEndpoint(prisma, { organizationId: environment.api.organizationId, name: "Billing" });
  const latest = { attemptCount: 1, statusCode: 204, durationMs: 1_300, attemptedAt: new Date(AT) };
  const { id } = await insertDelivery(prisma, webhook, {
    ...latest,
    state: "succeeded",
    createdAt: new Date(AT),
    body: JSON.stringify("x".repeat(1_232)),
  });
  place = `/webhooks/${webhook.id}/deliveries/${id}`;
});

test.each([
  ["de-DE", "Europe/Berlin", "31.01.2026, 15:03:22,187 GMT+1", "1.234", "1,3 s"],
  ["en-US", "America/New_York", "01/31/2026, 9:03:22.187 AM GMT-5", "1,234", "1.3 s"],
])(
  "a browser in %s and %s has its own times and numbers, and English words",
  async (locale, timezoneId, moment, bytes, length) => {
    const page = await environment.signIn(place, { locale, timezoneId });
    const drawer = page.getByRole("dialog");
    const time = drawer.locator(`time[datetime="${AT}"]`).filter({ hasText: moment });
    await time.first().waitFor();
    await drawer.getByText(`${bytes} bytes`).first().waitFor();
    await drawer.getByText(length).first().waitFor();
    await drawer.getByText("Succeeded").first().waitFor();
    expect(await time.first().getAttribute("data-hint")).toBe(AT);
    expect(environment.takeProblems()).toEqual([]);
  },
);
