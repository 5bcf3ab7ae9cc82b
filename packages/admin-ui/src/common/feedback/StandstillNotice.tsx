import type { EndpointOverview } from "@herald/contracts";
import { product } from "../product.ts";
import { Time } from "../time/Time.tsx";
import { Notice } from "./Notice.tsx";
import css from "./StandstillNotice.module.css";

type Standstill = Pick<EndpointOverview, "cutOffSinceUtc" | "heldSinceUtc">;

/** Says that it is Herald which sends nothing, not the receivers that fail. The region is always there, so that it is read out. */
export function StandstillNotice({ webhook }: { webhook: Standstill | undefined }) {
  return (
    <div className={css.region} role="status">
      {webhook?.heldSinceUtc ? <Stopped since={webhook.heldSinceUtc} /> : null}
      {webhook?.cutOffSinceUtc && !webhook.heldSinceUtc ? <Outage since={webhook.cutOffSinceUtc} /> : null}
    </div>
  );
}

function Outage({ since }: { since: string }) {
  return (
    <Notice tone="care" icon="offline" title={`${product.name}'s network is disturbed; nothing is counted.`}>
      <p>
        It began <Time iso={since} />. Deliveries wait, no failure counts against a webhook, and what waits goes out by
        itself when the network works again.
      </p>
    </Notice>
  );
}

function Stopped({ since }: { since: string }) {
  return (
    <Notice tone="care" title={`The operators of ${product.name} have stopped all deliveries; nothing is sent.`}>
      <p>
        It began <Time iso={since} />. Deliveries wait, and go out by themselves when it is over. Where it is a restore
        from a backup, some may come a second time, with the same delivery id, and what was changed here since the
        backup may have to be changed again.
      </p>
    </Notice>
  );
}
