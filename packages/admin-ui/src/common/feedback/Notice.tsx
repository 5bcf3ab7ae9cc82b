import type { EndpointDetails, EndpointOverview } from "@herald/contracts";
import type { ReactNode } from "react";
import { ApiProblem, ApiUnreachable } from "../../api/client.ts";
import { FILTERS } from "../../api/filters.ts";
import { classNames } from "../class-names.ts";
import { Icon, type IconName } from "../display/Icon.tsx";
import { product } from "../product.ts";
import shared from "../shared.module.css";
import { Time } from "../Time.tsx";
import css from "./feedback.module.css";

export type Tone = "good" | "bad" | "care" | "plain";

const icons: Record<Tone, IconName> = { good: "check", bad: "stop", care: "alert", plain: "info" };

export interface NoticeProps {
  tone: Tone;
  title?: ReactNode;
  icon?: IconName;
  children?: ReactNode;
  actions?: ReactNode;
  /** It answers something that the admin just did: it is read out at once. */
  urgent?: boolean;
}

export function Notice({ tone, title, icon = icons[tone], children, actions, urgent = false }: NoticeProps) {
  return (
    <div className={classNames(css.notice, shared[tone])} role={urgent ? "alert" : undefined}>
      <span className={css.noticeIcon}>
        <Icon name={icon} />
      </span>
      <div className={css.noticeText}>
        {title ? <p className={shared.strong}>{title}</p> : null}
        {children}
      </div>
      {actions ? <div className={shared.row}>{actions}</div> : null}
    </div>
  );
}

export interface ChangeProblemProps {
  error: unknown;
  /** The change as a participle, such as "saved". */
  done: string;
  /** The name of the webhook that was to be changed, if there are several. */
  subject?: string | undefined;
  /** The effect of another try if the change may have been made. */
  again?: string | undefined;
}

/** Why a change failed. Without an answer, or after a fault of the server, it may have been made. */
export function ChangeProblem({
  error,
  done,
  subject,
  again = `Try again: if it was ${done}, that is not done a second time.`,
}: ChangeProblemProps) {
  const isUnknown = !(error instanceof ApiProblem) || error.status >= 500;
  return (
    <Notice
      tone="bad"
      title={
        isUnknown ? `It is not known whether ${subject ?? "it"} was ${done}.` : `${subject ?? "It"} was not ${done}.`
      }
      urgent
    >
      <p>{reasonOf(error)}</p>
      {isUnknown ? <p>{again}</p> : null}
    </Notice>
  );
}

/** Why what is shown could not be refreshed. The API being out of reach, and a session's end or change, are said for the whole page. */
export function RefreshProblem({ error, what }: { error: unknown; what: string }) {
  if (!(error instanceof ApiProblem) || error.status === 401) return null;
  if (error.problem.code === "organization_mismatch") return null;
  return (
    <Notice tone="bad" title={`Could not refresh ${what}.`} urgent>
      <p>{reasonOf(error)}</p>
    </Notice>
  );
}

export function reasonOf(error: unknown): string {
  if (error instanceof ApiProblem) {
    const wait = error.retryAfterSeconds ? ` Try again in ${error.retryAfterSeconds} s.` : "";
    const support = error.problem.requestId ? ` (Request ${error.problem.requestId}.)` : "";
    const fields = error.problem.errors
      ?.map(({ parameter, detail }) => (parameter ? `${labelOf(parameter)}: ${detail}` : detail))
      .join(" ");
    return `${fields ?? error.message}${wait}${error.status >= 500 ? support : ""}`;
  }
  if (error instanceof ApiUnreachable) return `${product.name}'s API can't be reached. ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

function labelOf(parameter: string): string {
  // In the list of events, the event's type is called so.
  const wanted = parameter === "type" ? "eventType" : parameter;
  return Object.entries(FILTERS).find(([name, { parameter: own = name }]) => own === wanted)?.[1].label ?? parameter;
}

/** Says that Herald sends nothing, and that no receiver fails. The region is always there, so that its words are read out. */
export function StandstillNotice({ webhook }: { webhook: EndpointOverview | EndpointDetails | undefined }) {
  const { stoppedSinceUtc, outageSinceUtc } = webhook ?? {};
  return (
    <div className={shared.region} role="status">
      {stoppedSinceUtc ? (
        <Notice tone="care" title={`The operators of ${product.name} have stopped all deliveries; nothing is sent.`}>
          <p>
            It began <Time iso={stoppedSinceUtc} />. Deliveries wait, and go out by themselves when it is over. After a
            restore from a backup, some may come a second time, with the same delivery id, and what was changed here
            since the backup may have to be changed again.
          </p>
        </Notice>
      ) : outageSinceUtc ? (
        <Notice tone="care" icon="offline" title={`${product.name}'s network is disturbed; nothing is counted.`}>
          <p>
            It began <Time iso={outageSinceUtc} />. Deliveries wait, no failure counts against a webhook, and what waits
            goes out by itself when the network works again.
          </p>
        </Notice>
      ) : null}
    </div>
  );
}

/**
 * Says a sentence to screen readers, without moving the focus. What lies behind an open dialog is not read out, so each dialog has a region
 * too. A dialog that is about to close is gone in the next task.
 */
export function announce(sentence: string): void {
  setTimeout(() => {
    const regions = [...document.querySelectorAll("[data-announcements]")];
    const region = regions.find((each) => each.closest("dialog")) ?? regions[0];
    const line = document.createElement("p");
    line.textContent = sentence;
    region?.append(line);
    setTimeout(() => line.remove(), 10_000);
  });
}
