import { createHmac } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment();

test("an admin makes a webhook, sees events arrive, finds out why they stop, mends it and has the backlog delivered", async () => {
  const { receiver, clock, emit, emitRefused } = environment;
  const page = await environment.signIn("", { permissions: ["integrations.view", "integrations.manage"] });

  // The empty list leads to the first webhook.
  await page.getByRole("heading", { name: "No webhooks yet" }).waitFor();
  await page.getByRole("link", { name: "New webhook" }).first().click();
  await page.getByLabel("Name").fill("Billing mirror");
  await page.getByLabel("Endpoint URL").fill("http://billing.example");
  await page
    .getByText(/must begin with https|HTTPS/i)
    .first()
    .waitFor();
  await page.getByLabel("Endpoint URL").fill(`${receiver.url}/hooks`);
  await page.getByRole("checkbox", { name: "WorkItemCompleted" }).check();
  await page.getByRole("button", { name: "Save webhook" }).click();

  // The secret is shown this once, and signs what is sent.
  const dialog = page.getByRole("dialog", { name: "Signing secret of Billing mirror" });
  await dialog.getByText("This is the only time it is shown.").waitFor();
  await page.keyboard.press("Escape");
  await dialog.getByRole("button", { name: "Copy signing secret" }).click();
  const secret = await page.evaluate(() => navigator.clipboard.readText());
  expect(Buffer.from(secret, "base64")).toHaveLength(32);
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await page.getByRole("heading", { name: "Billing mirror", level: 1 }).waitFor();
  await page.getByText("No deliveries yet").waitFor();

  await emit();
  await page.getByRole("link", { name: "Succeeded, WorkItemCompleted" }).waitFor();
  const [request] = await receiver.received(1);
  const timestamp = String(request?.headers["x-service-timestamp"]);
  const signature = createHmac("sha256", secret)
    .update(`${timestamp}.`)
    .update(request?.body ?? "")
    .digest("hex");
  expect(request?.headers["x-service-signature"]).toBe(`sha256=${signature}`);

  // The receiver breaks: the page says so, and why.
  receiver.answerWith({ status: 401, body: "who are you?" });
  await emitRefused(5);
  await page.getByRole("heading", { name: "Disabled after five failures in a row" }).waitFor();
  const why = page.getByRole("region", { name: "Why deliveries fail" });
  await why.getByText("The receiver rejects the request.").waitFor();
  expect(await why.getByRole("listitem").count()).toBe(5);
  await emit();
  await why.getByText("Resuming sends 6 deliveries: 5 that wait here, and 1 event").waitFor();

  // One delivery's body, and the response to it.
  await why
    .getByRole("link", { name: /^Details of .* attempt 1$/ })
    .first()
    .click();
  const drawer = page.getByRole("dialog", { name: "WorkItemCompleted delivery" });
  await drawer.getByText("who are you?").waitFor();
  expect(page.url()).toMatch(/\/deliveries\/[0-9a-f-]{36}$/);
  await drawer.getByRole("radio", { name: "As sent" }).check();
  const body = await drawer.getByRole("group", { name: "body", exact: true }).textContent();
  expect(receiver.requests.map((each) => each.body.toString())).toContain(body);
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "hidden" });

  // Mended and resumed, everything goes out.
  receiver.answerWith({ status: 200 });
  const before = receiver.requests.length;
  await why.getByRole("button", { name: "Resume…" }).click();
  const question = page.getByRole("dialog", { name: "Resume Billing mirror?" });
  await question.getByText("Resuming sends 6 deliveries").waitFor();
  await question.getByRole("button", { name: "Resume", exact: true }).click();
  await question.waitFor({ state: "hidden" });
  // A minute after the latest attempt's end, whose duration is real time.
  clock.advance(10 * 60_000);
  await receiver.received(before + 6, 120_000);
  await eventually(
    async () => {
      expect(await page.getByRole("link", { name: "Succeeded, WorkItemCompleted" }).count()).toBe(7);
    },
    { timeoutMs: 120_000 },
  );
  expect(await page.getByRole("region", { name: "Why deliveries fail" }).count()).toBe(0);

  // The rates, by the keyboard alone, and as a table.
  const rates = page.getByRole("region", { name: "Success rate and response time" });
  await rates.getByText("12 attempts in the last 24 hours: 7 succeeded, 5 failed").waitFor();
  await rates.getByText("58.3 %", { exact: true }).waitFor();
  await rates.getByRole("radio", { name: "1 day" }).focus();
  await page.keyboard.press("ArrowRight");
  await rates.getByText("12 attempts in the last 7 days: 7 succeeded, 5 failed").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  expect(await rates.getByRole("row").last().getByRole("cell").allTextContents()).toEqual(["7", "5"]);
}, 600_000);
