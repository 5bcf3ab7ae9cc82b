import type { ResendPage } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { insertDelivery } from "@herald/dev/harness/rows";
import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment();

/** An endpoint whose receiver was away an hour ago, and so never got these. */
async function webhookWith(bodies: readonly string[]): Promise<string> {
  const { api, receiver, clock, db } = environment;
  const { endpoint } = await api.create({ url: receiver.url, name: "Billing" });
  for (const [index, body] of bodies.entries()) {
    const createdAt = new Date(clock.now().getTime() - 3_600_000 + index);
    await insertDelivery(
      db.database.prisma,
      { id: endpoint.id, organizationId: api.organizationId },
      {
        createdAt,
        state: "exhausted",
        attemptCount: 5,
        attemptedAt: createdAt,
        durationMs: 12,
        statusCode: 503,
        errorSummary: "the receiver answered 503",
        failureKind: "http_status",
        body,
      },
    );
  }
  return endpoint.id;
}

const bodies = (count: number) => Array.from({ length: count }, (_, index) => `{ "größe":  ${index} }\r\n`);

/** The clock stands still. It is moved while the resend rests: never while an attempt is under way. */
async function untilFinished(id: string): Promise<void> {
  await eventually(async () => {
    const { resends } = await environment.api.read<ResendPage>(`/${id}/resends`);
    const [resend] = resends;
    if (resend?.state === "running" && resend.unfinished === 0) environment.clock.advance(500);
    expect(resend).toMatchObject({ state: "finished", unfinished: 0 });
  });
}

/** Apart from what is read out. */
const sentAgain = (page: Page) => page.getByRole("list", { name: "What was sent again, newest first" });

test("§3.2 what a receiver never got is counted, sent again from the page byte for byte, and is in the trail", async () => {
  const sent = bodies(60);
  const id = await webhookWith(sent);
  const page = await environment.signIn(`/webhooks/${id}`);
  await page.getByRole("link", { name: "Missed" }).click();
  await page.getByText("60 deliveries were given up").waitFor();
  await page.getByRole("button", { name: "Send again…" }).click();
  const dialog = page.getByRole("dialog", { name: "Send 60 deliveries again?" });
  await dialog.getByText("with exactly the same body").waitFor();
  await dialog.getByRole("button", { name: "Send again" }).click();

  await untilFinished(id);
  await sentAgain(page).getByText("60 of 60 sent: 60 succeeded.").waitFor();
  await sentAgain(page).getByText("Finished").waitFor();
  await page.getByText("Nothing was missed").waitFor();
  const requests = await environment.receiver.received(60);
  expect(requests.map(({ body }) => body.toString()).sort()).toEqual([...sent].sort());

  await page.getByRole("link", { name: "Changes" }).click();
  await page.getByText("Sent again: 60 deliveries").waitFor();
  await page.getByRole("link", { name: "Deliveries", exact: true }).click();
  await page
    .getByRole("link", { name: /^Succeeded, / })
    .first()
    .click();
  const drawer = page.getByRole("dialog", { name: "WorkItemCompleted delivery" });
  await drawer.getByText("Sends again").waitFor();
  expect(environment.takeProblems()).toEqual([]);
});

test("with the keyboard alone one sends again and stops half-way, and the page says what went out", async () => {
  const id = await webhookWith(bodies(120));
  const page = await environment.signIn(`/webhooks/${id}/never-got`);
  await page.getByRole("button", { name: "Send again…" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  for (let presses = 0; presses < 10; presses++) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate(() => document.activeElement?.textContent)) === "Send again") break;
  }
  await page.keyboard.press("Enter");
  await sentAgain(page).getByText("50 of 120 sent: 50 succeeded.").waitFor();
  expect(await page.getByRole("button", { name: "Send again…" }).getAttribute("aria-disabled")).toBe("true");
  await page.getByRole("button", { name: "Stop" }).focus();
  await page.keyboard.press("Enter");
  await sentAgain(page).getByText("Stopped by developer").waitFor();
  await page.getByText("70 deliveries were given up").waitFor();
  environment.clock.advance(60_000);
  expect(await environment.receiver.received(50)).toHaveLength(50);
});
