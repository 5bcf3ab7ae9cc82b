import type { DeliveryListItem, EndpointDetails } from "@herald/contracts";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import { deliveriesQuery, deliveryQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { outcomeWords } from "../../common/display/status.ts";
import { NotLoaded } from "../../common/feedback/LoadError.tsx";
import { part } from "../../common/feedback/Part.tsx";
import { Field, Select } from "../../common/form/Field.tsx";
import { ago } from "../../common/formats.ts";
import { Panel, usePageTitle } from "../../common/page/Page.tsx";
import { product } from "../../common/product.ts";
import shared from "../../common/shared.module.css";
import { useTicking } from "../../common/Time.tsx";
import css from "./Signature.module.css";
import { SignatureCheck } from "./SignatureCheck.tsx";

const ReceiverCode = part("the code", () => import("./ReceiverCode.tsx"));

export default function Signature({ webhook }: { webhook: EndpointDetails }) {
  usePageTitle(`Signature · ${webhook.name}`, 1);
  const [search, setSearch] = useSearchParams();
  const recent = useInfiniteQuery({ ...deliveriesQuery(webhook.id, {}), refetchInterval: false });
  const attempted = (recent.data?.pages[0]?.deliveries ?? []).filter(({ attemptedAtUtc }) => attemptedAtUtc !== null);
  const chosen = search.get("delivery") ?? attempted[0]?.id ?? null;
  return (
    <>
      <Panel title="What your receiver should have seen" padded>
        {chosen === null ? (
          recent.data ? (
            <p className={classNames(shared.softSmall, css.intro)}>
              Nothing has been sent yet. After the first attempt you can check its signature here.
            </p>
          ) : (
            <NotLoaded error={recent.error} what="the deliveries" />
          )
        ) : (
          <>
            <p className={classNames(shared.softSmall, css.intro)}>
              A receiver that rejects what {product.name} sends has most often another secret, or signs something other
              than the raw body. Choose a delivery and compare.
            </p>
            <DeliveryChoice
              deliveries={attempted}
              chosen={chosen}
              onChoose={(id) => setSearch({ delivery: id }, { replace: true })}
            />
            <Chosen key={chosen} webhook={webhook} deliveryId={chosen} />
          </>
        )}
      </Panel>
      <ReceiverCode />
    </>
  );
}

interface ChoiceProps {
  deliveries: readonly DeliveryListItem[];
  chosen: string;
  onChoose: (id: string) => void;
}

function DeliveryChoice({ deliveries, chosen, onChoose }: ChoiceProps) {
  const now = useTicking((nowMs) => Math.floor(nowMs / 60_000)) * 60_000;
  const isListed = deliveries.some(({ id }) => id === chosen);
  return (
    <Field label="Delivery">
      {(attributes) => (
        <Select {...attributes} value={chosen} onChange={({ target }) => onChoose(target.value)}>
          {isListed ? null : <option value={chosen}>{chosen}</option>}
          {deliveries.map((delivery) => (
            <option key={delivery.id} value={delivery.id}>
              {delivery.eventType}, {outcomeWords[delivery.outcome].toLowerCase()},{" "}
              {ago(Date.parse(delivery.attemptedAtUtc ?? delivery.createdAtUtc), now)}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

function Chosen({ webhook, deliveryId }: { webhook: EndpointDetails; deliveryId: string }) {
  const { data: delivery, error } = useQuery(deliveryQuery(webhook.id, deliveryId));
  if (delivery && delivery.attempts.length > 0) return <SignatureCheck delivery={delivery} />;
  if (delivery)
    return (
      <p className={classNames(shared.softSmall, css.intro)}>
        This delivery has had no attempt yet, so nothing has been signed.
      </p>
    );
  return <NotLoaded error={error} what="the delivery" />;
}
