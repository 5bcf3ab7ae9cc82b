import type { Outcome } from "@herald/contracts";
import type { ReactNode } from "react";
import { classNames } from "../class-names.ts";
import { useSession } from "../session.tsx";
import shared from "../shared.module.css";
import css from "./display.module.css";
import { Icon, type IconName } from "./Icon.tsx";
import { type EndpointStatus, heldAfterFailure, outcomeWords, statusWords } from "./status.ts";

const statusLook: Record<EndpointStatus, { icon: IconName; tone: string | undefined }> = {
  active: { icon: "check", tone: shared.good },
  failing: { icon: "alert", tone: shared.care },
  quarantined: { icon: "clock", tone: shared.care },
  paused: { icon: "pause", tone: shared.plain },
  disabled: { icon: "stop", tone: shared.bad },
};

export function StatusBadge({ status }: { status: EndpointStatus }) {
  const { limits } = useSession();
  const { icon, tone } = statusLook[status];
  return (
    <span className={classNames(css.badge, css.filled, tone)}>
      <Icon name={icon} size={14} />
      {statusWords(status, limits.disableAfterFailures)}
    </span>
  );
}

const outcomeLook: Record<Outcome, { icon: IconName; tone: string | undefined }> = {
  succeeded: { icon: "check", tone: shared.good },
  waiting: { icon: "clock", tone: shared.plain },
  failing: { icon: "retry", tone: shared.care },
  parked: { icon: "pause", tone: shared.plain },
  exhausted: { icon: "stop", tone: shared.bad },
  expired: { icon: "cross", tone: shared.bad },
};

interface OutcomeProps {
  outcome: Outcome;
  words?: ReactNode;
  /** Its attempts so far: one that is on hold after a failure is red. */
  attempts?: number;
}

export function OutcomeBadge({ outcome, words = outcomeWords[outcome], attempts = 0 }: OutcomeProps) {
  const { icon, tone } = outcomeLook[outcome];
  return (
    <span className={classNames(css.badge, heldAfterFailure(outcome, attempts) ? shared.bad : tone)}>
      <Icon name={icon} size={14} />
      {words}
    </span>
  );
}

interface Props {
  count: number;
  limit: number;
  /** The result of the last one. The ones before it are failures. */
  last?: "failed" | "succeeded";
}

/** A count of five as marks: a webhook's consecutive failures, or a delivery's attempts. */
export function Pips({ count, limit, last = "failed" }: Props) {
  const kindOf = (pip: number): string | undefined => {
    if (pip > count) return undefined;
    return pip < count || last === "failed" ? css.pipFailed : css.pipSucceeded;
  };
  return (
    <span className={classNames(css.line, shared.numbers)}>
      <span className={css.pips} aria-hidden="true">
        {Array.from({ length: limit }, (_, index) => (
          <i key={index} className={classNames(css.pip, kindOf(index + 1))} />
        ))}
      </span>
      <span className={shared.note}>{`${count} of ${limit}`}</span>
    </span>
  );
}
