import { product } from "../product.ts";
import { Time } from "../time/Time.tsx";
import css from "./CutOffNotice.module.css";
import { Notice } from "./Notice.tsx";

/** Says that it is Herald which reaches no receiver, not the receivers that fail. The region is always there, so that it is read out. */
export function CutOffNotice({ since }: { since: string | null }) {
  return (
    <div className={css.region} role="status">
      {since === null ? null : (
        <Notice tone="care" icon="offline" title={`${product.name}'s network is disturbed; nothing is counted.`}>
          <p>
            It began <Time iso={since} />. Deliveries wait, no failure counts against a webhook, and what waits goes out
            by itself when the network works again.
          </p>
        </Notice>
      )}
    </div>
  );
}
