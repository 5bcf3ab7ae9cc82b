import { Link, useLocation } from "wouter";
import css from "./Tabs.module.css";

const tabs = [
  { path: "", words: "Deliveries" },
  { path: "/never-got", words: "Never got" },
  { path: "/manual", words: "Manual delivery" },
  { path: "/signature", words: "Signature" },
  { path: "/settings", words: "Settings" },
  { path: "/changes", words: "Changes" },
] as const;

/** The parts of a webhook's page: links, since each has an address of its own. */
export function Tabs({ id }: { id: string }) {
  const [location] = useLocation();
  const base = `/webhooks/${id}`;
  const current = tabs.findLast(({ path }) => location.startsWith(base + path))?.path ?? "";
  return (
    <nav className={css.tabs} aria-label="Parts of this webhook">
      {tabs.map(({ path, words }) => (
        <Link key={path} href={base + path} className={css.tab} aria-current={path === current ? "page" : undefined}>
          {words}
        </Link>
      ))}
    </nav>
  );
}
