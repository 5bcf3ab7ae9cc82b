import type { EndpointDetails, SessionInfo } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { Router } from "wouter";
import { SessionContext } from "../../common/session.tsx";

// The modules of the page need only this of a browser while they are loaded.
Object.assign(globalThis, { window: { addEventListener: () => {} } });
const { WebhookList } = await import("./WebhookList.tsx");
const { EditWebhook, default: NewWebhook } = await import("./WebhookForm.tsx");

const session = { mayManage: true, missing: [], limits: { nameCharacters: 120 } } as unknown as SessionInfo;
const webhook = {
  id: "a",
  name: "Billing",
  url: "https://a.example",
  events: [],
  enabled: true,
} as unknown as EndpointDetails;

/** The names of what can be used in a scene, as the markup says them. */
function namesIn(scene: ReactNode): string[] {
  const html = renderToStaticMarkup(
    <QueryClientProvider client={new QueryClient()}>
      <Router ssrPath="/">
        <SessionContext value={session}>{scene}</SessionContext>
      </Router>
    </QueryClientProvider>,
  );
  return [...html.matchAll(/<(?:a|button|label|legend)\b[^>]*>(.*?)<\/(?:a|button|label|legend)>/g)].map(
    ([, inside = ""]) => inside.replace(/<[^>]*>/g, "").trim(),
  );
}

test("§1/controls the page's controls have the names that they are asked to have", () => {
  expect(namesIn(<WebhookList />)).toContain("New webhook");
  const controls = ["Name", "Endpoint URL", "Event selection", "Active", "Save webhook"];
  expect(namesIn(<NewWebhook />)).toEqual(expect.arrayContaining(controls));
  expect(namesIn(<EditWebhook webhook={webhook} />)).toEqual(
    expect.arrayContaining([...controls, "Replace signing secret"]),
  );
});
