import type { EndpointDetails, FailedAttempt } from "@herald/contracts";
import { Link } from "wouter";
import { classNames } from "../../common/class-names.ts";
import { Pips } from "../../common/display/Badge.tsx";
import { Icon } from "../../common/display/Icon.tsx";
import { besideStatus, endpointStatus, inWords, nextTryWords } from "../../common/display/status.ts";
import { duration } from "../../common/formats.ts";
import { product } from "../../common/product.ts";
import { useSession } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { Moment, Time, useTicking } from "../../common/Time.tsx";
import { ResumeButton } from "./dialogs.tsx";
import css from "./webhook.module.css";
import { diagnose, resumeWords } from "./words.ts";

/**
 * Why a webhook doesn't get its deliveries, and what to do. Empty for a healthy one.
 * @param brief in a line, where something else is what one looks at
 */
export function Health({ webhook, brief }: { webhook: EndpointDetails; brief: boolean }) {
  const status = endpointStatus(webhook);
  if (status === "active") return null;
  if (status === "paused") return <Paused webhook={webhook} brief={brief} />;
  if (status === "quarantined") return <Quarantined since={webhook.quarantinedAtUtc ?? ""} />;
  return <Failing webhook={webhook} brief={brief} />;
}

function Paused({ webhook, brief }: { webhook: EndpointDetails; brief: boolean }) {
  return (
    <section className={classNames(shared.small, shared.plain, css.health)} aria-label="Why nothing is sent">
      <div className={classNames(shared.top, shared.inset, css.head)}>
        <div className={shared.words}>
          <h2 className={classNames(shared.iconed, css.title)}>
            <Icon name="pause" /> Paused by {webhook.disabledBy ?? "an admin"}
          </h2>
          {brief ? null : (
            <p>
              Nothing has been sent
              {webhook.disabledAtUtc ? (
                <>
                  {" "}
                  since it was switched off <Time iso={webhook.disabledAtUtc} />
                </>
              ) : null}
              . {onResume(webhook)}
            </p>
          )}
        </div>
        <ResumeButton webhook={webhook} />
      </div>
    </section>
  );
}

/** Not the receiver's fault, so it is said as plainly as a pause. */
function Quarantined({ since }: { since: string }) {
  return (
    <section className={classNames(shared.small, shared.care, css.health)} aria-label="Why nothing is sent">
      <div className={classNames(shared.top, shared.inset, css.head)}>
        <div className={shared.words}>
          <h2 className={classNames(shared.iconed, css.title)}>
            <Icon name="alert" /> {product.name} can't open this webhook's signing secret
          </h2>
          <p>
            It noticed so <Time iso={since} />. Nothing is sent meanwhile, and no failure is counted: a key of{" "}
            {product.name}'s own is missing, which its operators see too. Deliveries wait, and go out by themselves when
            the key is back.
          </p>
          <p>To go on without it, replace the signing secret under Settings, and give your receiver the new one.</p>
        </div>
      </div>
    </section>
  );
}

function onResume(webhook: EndpointDetails): string {
  const { parked, missedEvents } = webhook.onResume ?? { parked: 0, missedEvents: 0 };
  const waits = parked + missedEvents > 0;
  return waits ? resumeWords(webhook) : "Nothing waits so far.";
}

function Failing({ webhook, brief }: { webhook: EndpointDetails; brief: boolean }) {
  const { limits } = useSession();
  const limit = limits.disableAfterFailures;
  const { failureRun: run, consecutiveFailures: failures, enabled } = webhook;
  return (
    <section
      className={classNames(shared.small, enabled ? shared.care : shared.bad, css.health)}
      aria-label="Why deliveries fail"
    >
      <div className={classNames(shared.top, shared.inset, css.head)}>
        <div className={shared.words}>
          <h2 className={classNames(shared.iconed, css.title)}>
            <Icon name={enabled ? "alert" : "stop"} />
            {enabled
              ? `${failures} of ${limit} failures in a row`
              : `Disabled after ${inWords(limit)} failures in a row`}
          </h2>
          {brief ? <Link href={`/webhooks/${webhook.id}`}>See why</Link> : <Why webhook={webhook} />}
        </div>
        {enabled ? (
          <Pips count={Math.min(failures, limit)} limit={limit} words={`${failures} of ${limit} failures in a row`} />
        ) : (
          <ResumeButton webhook={webhook} />
        )}
      </div>
      {run.length > 0 && !brief ? <Attempts id={webhook.id} run={run} disabledIt={!enabled} /> : null}
    </section>
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
          `After ${inWords(limits.disableAfterFailures)} in a row ${product.name} disables the webhook; any success starts the count anew.`
        ) : (
          <>
            Nothing has been sent
            {webhook.disabledAtUtc ? (
              <>
                {" "}
                since {product.name} disabled it <Time iso={webhook.disabledAtUtc} />
              </>
            ) : null}
            . {onResume(webhook)}
          </>
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
