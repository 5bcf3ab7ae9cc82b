import type { EndpointDetails, FailedAttempt } from "@herald/contracts";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { classNames } from "../../common/class-names.ts";
import { Icon, type IconName } from "../../common/display/Icon.tsx";
import { besideStatus, endpointStatus, inWords, nextTryWords } from "../../common/display/status.ts";
import type { Tone } from "../../common/feedback/Notice.tsx";
import { duration } from "../../common/formats.ts";
import { product } from "../../common/product.ts";
import { useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { Moment, Time, useTicking } from "../../common/Time.tsx";
import { ResumeButton } from "./dialogs.tsx";
import css from "./webhook.module.css";
import { diagnose, resumeWords } from "./words.ts";

interface HealthProps {
  webhook: EndpointDetails;
  /** Whether it is shown in one line, on a page about something else. */
  brief: boolean;
}

export function Health({ webhook, brief }: HealthProps) {
  const status = endpointStatus(webhook);
  if (status === "active") return null;
  if (status === "paused") return <Paused webhook={webhook} brief={brief} />;
  if (status === "quarantined") return <Quarantined since={webhook.quarantinedAtUtc ?? ""} />;
  return <Failing webhook={webhook} brief={brief} />;
}

interface CardProps {
  tone: Tone;
  label: string;
  icon: IconName;
  title: string;
  children: ReactNode;
  action?: ReactNode;
  below?: ReactNode;
}

function Card({ tone, label, icon, title, children, action, below }: CardProps) {
  return (
    <section className={classNames(shared.small, shared[tone], css.health)} aria-label={label}>
      <div className={classNames(shared.top, shared.inset, css.head)}>
        <div className={shared.words}>
          <h2 className={classNames(shared.iconed, css.title)}>
            <Icon name={icon} /> {title}
          </h2>
          {children}
        </div>
        {action}
      </div>
      {below}
    </section>
  );
}

function Paused({ webhook, brief }: HealthProps) {
  return (
    <Card
      tone="plain"
      label="Why nothing is sent"
      icon="pause"
      title={`Paused by ${webhook.disabledBy ?? "an admin"}`}
      action={<ResumeButton webhook={webhook} />}
    >
      {brief ? null : (
        <p>
          <NothingSent webhook={webhook} since="it was switched off" />
        </p>
      )}
    </Card>
  );
}

/** Not the receiver's fault, so it is said as plainly as a pause. */
function Quarantined({ since }: { since: string }) {
  return (
    <Card
      tone="care"
      label="Why nothing is sent"
      icon="alert"
      title={`${product.name} can't open this webhook's signing secret or its own headers`}
    >
      <p>
        It noticed this <Time iso={since} />. Nothing is sent meanwhile, and no failure is counted: a key of{" "}
        {product.name}'s own is missing, which its operators see too. Deliveries wait, and go out by themselves when the
        key is back.
      </p>
      <p>
        To go on without it, replace the signing secret under Settings, and give your receiver the new one. Replace its
        own headers too.
      </p>
    </Card>
  );
}

/** @param since what happened when sending stopped, in words */
function NothingSent({ webhook, since }: { webhook: EndpointDetails; since: string }) {
  const { parked, missedEvents } = webhook.onResume ?? { parked: 0, missedEvents: 0 };
  return (
    <>
      Nothing has been sent
      {webhook.disabledAtUtc ? (
        <>
          {` since ${since} `}
          <Time iso={webhook.disabledAtUtc} />
        </>
      ) : null}
      . {parked + missedEvents > 0 ? resumeWords(webhook) : "Nothing waits so far."}
    </>
  );
}

function Failing({ webhook, brief }: HealthProps) {
  const { limits } = useSession();
  const limit = limits.disableAfterFailures;
  const { failureRun: run, consecutiveFailures: failures, enabled } = webhook;
  return (
    <Card
      tone={enabled ? "care" : "bad"}
      label="Why deliveries fail"
      icon={enabled ? "alert" : "stop"}
      title={
        enabled ? `${failures} of ${limit} failures in a row` : `Disabled after ${inWords(limit)} failures in a row`
      }
      action={enabled ? null : <ResumeButton webhook={webhook} />}
      below={run.length > 0 && !brief ? <Attempts id={webhook.id} run={run} disabledIt={!enabled} /> : null}
    >
      {brief ? <Link href={`/webhooks/${webhook.id}`}>See why</Link> : <Why webhook={webhook} />}
    </Card>
  );
}

function Why({ webhook }: { webhook: EndpointDetails }) {
  const { limits } = useSession();
  const { failureRun: run, enabled } = webhook;
  const diagnosis = diagnose(run, enabled);
  return (
    <>
      {enabled ? <NextTry webhook={webhook} /> : null}
      {diagnosis ? <p className={shared.strong}>{diagnosis.cause}</p> : null}
      {diagnosis ? <p>{diagnosis.remedy}</p> : null}
      <p className={classNames(shared.soft, css.consequence)}>
        {enabled ? (
          `After ${inWords(limits.disableAfterFailures)} in a row ${product.name} disables the webhook. Any success starts the count again.`
        ) : (
          <NothingSent webhook={webhook} since={`${product.name} disabled it`} />
        )}
      </p>
    </>
  );
}

function NextTry({ webhook }: { webhook: EndpointDetails }) {
  const words = useTicking((now) => nextTryWords(webhook, now) ?? "");
  if (words) return <p>Failing, {words}.</p>;
  return (
    <p>
      {webhook.outageSinceUtc || webhook.stoppedSinceUtc
        ? "Failing, and tried again later."
        : "Failing, and tried again with its next delivery."}
    </p>
  );
}

function Attempts({ id, run, disabledIt }: { id: string; run: FailedAttempt[]; disabledIt: boolean }) {
  return (
    <ol
      className={classNames(shared.ruled, css.run)}
      aria-label={
        disabledIt ? "The attempts that disabled it, oldest first" : "The failures since the last success, oldest first"
      }
    >
      {run.map((attempt) => (
        <li key={`${attempt.deliveryId}/${attempt.attemptNumber}`} className={css.attempt}>
          <span className={classNames(shared.soft, css.when)}>
            <Moment iso={attempt.attemptedAtUtc} />
          </span>
          <span>
            <strong>{attempt.statusCode}</strong>
            {` ${besideStatus(attempt.statusCode, attempt.errorSummary)}`}
          </span>
          <span className={classNames(shared.soft, css.detail)}>
            {attempt.eventType}, attempt {attempt.attemptNumber}, {duration(attempt.durationMs)}
          </span>
          <Link
            href={`/webhooks/${id}/deliveries/${attempt.deliveryId}`}
            aria-label={`Details of ${attempt.eventType}, attempt ${attempt.attemptNumber}`}
          >
            Details
          </Link>
        </li>
      ))}
    </ol>
  );
}
