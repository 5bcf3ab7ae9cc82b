import { createHmac } from "node:crypto";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "../support/test-environment.ts";

const environment = useTestEnvironment();

async function webhook() {
  return await environment.api.create({
    name: "Billing mirror",
    url: environment.receiver.url,
    events: ["RiskCreated", "WorkItemCompleted"],
  });
}

test("§4.1.2 a sample is edited and sent, and the result stands below it", async () => {
  const { endpoint } = await webhook();
  const page = await environment.signIn(`/webhooks/${endpoint.id}/manual`);
  const json = page.getByLabel("JSON to send");
  await json.waitFor();
  expect(JSON.parse(await json.inputValue())).toMatchObject({ type: "WorkItemCompleted" });
  await page.getByLabel("Event", { exact: true }).selectOption("RiskCreated");
  expect(JSON.parse(await json.inputValue())).toMatchObject({ type: "RiskCreated" });

  await json.fill('{"a": 1,}');
  await page.getByText("Not valid JSON yet: look at line 1, column 9.").waitFor();
  expect(await page.getByRole("button", { name: "Send manual delivery" }).getAttribute("aria-disabled")).toBe("true");
  await json.fill('{"a": 1, "a": 2}');
  await page.getByText("An object has the same name twice: look at line 1, column 10.").waitFor();
  expect(await page.getByRole("button", { name: "Send manual delivery" }).getAttribute("aria-disabled")).toBeNull();
  await json.fill('{"größe":  "ein\\u00df"}');
  await page.getByRole("button", { name: "Send manual delivery" }).click();
  await page.getByText("Succeeded: the receiver answered 200.").waitFor();
  const [request] = await environment.receiver.received(1);
  expect(request?.body.toString()).toBe('{"größe":  "ein\\u00df"}');
  expect(request?.headers["x-service-event"]).toBe("RiskCreated");
});

test("§4.1.2 what an older delivery carried is sent again byte for byte, line ends included", async () => {
  const { endpoint } = await webhook();
  const payload = '{\r\n  "id": 1,\r\n  "name": "\\u00dcber"\r\n}\r\n';
  const sent = await environment.api.deliver(endpoint.id, "RiskCreated", payload);
  const page = await environment.signIn(`/webhooks/${endpoint.id}/deliveries/${sent.id}`);
  await page.getByRole("link", { name: "Send again as manual delivery" }).click();
  await page.getByLabel("JSON to send").waitFor();
  expect(await page.getByLabel("Event", { exact: true }).inputValue()).toBe("RiskCreated");
  await page.getByRole("button", { name: "Send manual delivery" }).click();
  await page.getByText("Succeeded").waitFor();
  const [first, second] = await environment.receiver.received(2);
  expect(first?.body.toString()).toBe(payload);
  expect(second?.body.toString()).toBe(payload);
  expect(second?.headers["x-service-delivery-id"]).not.toBe(first?.headers["x-service-delivery-id"]);
});

test("§4.1.2 a paused webhook takes none, and the page says why", async () => {
  const { endpoint } = await webhook();
  await environment.api.edit(endpoint.id, { enabled: false });
  const page = await environment.signIn(`/webhooks/${endpoint.id}/manual`);
  await page.getByText("The webhook is not active.").filter({ visible: true }).waitFor();
  const button = page.getByRole("button", { name: "Send manual delivery" });
  expect(await button.getAttribute("aria-disabled")).toBe("true");
  await button.click({ force: true });
  expect(environment.receiver.requests).toHaveLength(0);
});

test("§4.3 the signature panel shows the header that the receiver got, and finds the receiver's mistake", async () => {
  const { endpoint, signingSecret } = await webhook();
  await environment.api.deliver(endpoint.id, "RiskCreated", '{"id":  1}');
  const [request] = await environment.receiver.received(1);
  const page = await environment.signIn(`/webhooks/${endpoint.id}/signature`);
  const requests: string[] = [];
  page.on("request", (each) => requests.push(`${each.url()} ${each.postData() ?? ""}`));
  await page.getByLabel("Signing secret").fill(signingSecret ?? "");
  expect(await page.getByRole("group", { name: "expected signature" }).textContent()).toBe(
    request?.headers["x-service-signature"],
  );
  const timestamp = String(request?.headers["x-service-timestamp"]);
  expect(await page.getByRole("group", { name: "signed message" }).textContent()).toBe(`${timestamp}.{"id":  1}`);

  const got = page.getByLabel("What your receiver computed");
  const digest = (message: string) =>
    createHmac("sha256", signingSecret ?? "")
      .update(message)
      .digest("hex");
  await got.fill(`sha256=${digest(`${timestamp}.{"id":1}`)}`);
  await page.getByText("keep the raw bytes").waitFor();
  await got.fill(String(request?.headers["x-service-signature"]));
  await page.getByText("It is the right one.").waitFor();
  expect(requests.filter((each) => each.includes(signingSecret ?? "-"))).toEqual([]);
});
