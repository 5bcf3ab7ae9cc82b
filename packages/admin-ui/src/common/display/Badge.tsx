import type { Outcome } from "@herald/contracts";
import { classNames } from "../class-names.ts";
import { outcomeWords } from "./delivery-outcome.ts";
import css from "./display.module.css";
import { type EndpointStatus, statusWords } from "./endpoint-status.ts";
import { Icon, type IconName } from "./Icon.tsx";

const statusLook: Record<EndpointStatus, { icon: IconName; tone: string | undefined }> = {
  active: { icon: "check", tone: css.good },
  failing: { icon: "alert", tone: css.care },
  quarantined: { icon: "clock", tone: css.care },
  paused: { icon: "pause", tone: css.plain },
  disabled: { icon: "stop", tone: css.bad },
};

/** A webhook's status in words; the shape before them differs as well as the colour. */
export function StatusBadge({ status, failureLimit }: { status: EndpointStatus; failureLimit: number }) {
  const { icon, tone } = statusLook[status];
  return (
    <span className={classNames(css.badge, css.filled, tone)}>
      <Icon name={icon} size={14} />
      {statusWords(status, failureLimit)}
    </span>
  );
}

const outcomeLook: Record<Outcome, { icon: IconName; tone: string | undefined }> = {
  succeeded: { icon: "check", tone: css.good },
  waiting: { icon: "clock", tone: css.plain },
  failing: { icon: "retry", tone: css.care },
  exhausted: { icon: "stop", tone: css.bad },
  expired: { icon: "cross", tone: css.bad },
};

/** What has become of a delivery. */
export function OutcomeBadge({ outcome, words = outcomeWords[outcome] }: { outcome: Outcome; words?: string }) {
  const { icon, tone } = outcomeLook[outcome];
  return (
    <span className={classNames(css.badge, tone)}>
      <Icon name={icon} size={14} />
      {words}
    </span>
  );
}
