import { Tabs } from "./Tabs.tsx";

const sections = [
  { path: "", words: "Webhooks" },
  { path: "/events", words: "Events" },
  { path: "/deliveries", words: "Deliveries" },
  { path: "/changes", words: "Changes" },
] as const;

/** What there is of the organization as a whole. */
export function Sections() {
  return <Tabs name="Parts of webhooks" base="" tabs={sections} />;
}
