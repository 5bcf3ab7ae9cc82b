import { OUTCOMES, type Outcome } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { type DeliveryFilters, filtersToSearch, isNarrowed, PERIODS, type Period } from "../../api/delivery-filters.ts";
import { eventTypesQuery } from "../../api/queries.ts";
import { outcomeMeaning, outcomeWords } from "../../common/display/delivery-outcome.ts";
import { Button } from "../../common/form/Button.tsx";
import { Choices } from "../../common/form/Choices.tsx";
import { Select } from "../../common/form/Select.tsx";
import css from "./DeliveryFilterBar.module.css";

const periodWords: Record<Period, string> = { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days" };

interface Props {
  filters: DeliveryFilters;
  subscribed: readonly string[];
  home: string;
  /** For a list whose outcome is given. */
  withoutOutcome?: boolean;
  /** What to do with the list. Stands beside the filters. */
  children?: ReactNode;
}

/** Narrows the deliveries. The choice is in the page's address. */
export function DeliveryFilterBar({ filters, subscribed, home, withoutOutcome = false, children }: Props) {
  const [, go] = useLocation();
  const narrow = (change: Partial<DeliveryFilters>): void => {
    const search = filtersToSearch({ ...filters, ...change }).toString();
    go(search ? `${home}?${search}` : home, { replace: true });
  };
  const [outcome] = filters.outcomes;
  const [eventType] = filters.eventTypes;
  const { data: catalogue = [] } = useQuery(eventTypesQuery);
  // Until the catalogue is there, and where it has lost a type, these are known all the same.
  const known = new Set([...catalogue.map(({ name }) => name), ...subscribed, ...filters.eventTypes]);
  const others = [...known].filter((type) => !subscribed.includes(type));
  return (
    <search className={css.bar}>
      {withoutOutcome ? null : (
        <Choices<Outcome | "all">
          name="Outcome"
          value={outcome ?? "all"}
          options={[
            { value: "all", words: "All" },
            ...OUTCOMES.map((value) => ({ value, words: outcomeWords[value], hint: outcomeMeaning[value] })),
          ]}
          onChange={(value) => narrow({ outcomes: value === "all" ? [] : [value] })}
        />
      )}
      <div className={css.selects}>
        <Select
          aria-label="Event"
          value={eventType ?? ""}
          onChange={({ target }) => narrow({ eventTypes: target.value === "" ? [] : [target.value] })}
        >
          <option value="">Every event</option>
          <optgroup label="Subscribed">
            {[...known]
              .filter((type) => subscribed.includes(type))
              .map((type) => (
                <option key={type}>{type}</option>
              ))}
          </optgroup>
          <optgroup label="Others">
            {others.map((type) => (
              <option key={type}>{type}</option>
            ))}
          </optgroup>
        </Select>
        <Select
          aria-label="Period"
          value={filters.period ?? ""}
          onChange={({ target }) => narrow({ period: PERIODS.find((period) => period === target.value) ?? null })}
        >
          <option value="">Any time</option>
          {PERIODS.map((period) => (
            <option key={period} value={period}>
              {periodWords[period]}
            </option>
          ))}
        </Select>
        {isNarrowed(filters) ? (
          <Button kind="quiet" icon="cross" onClick={() => go(home, { replace: true })}>
            Clear
          </Button>
        ) : null}
        {children}
      </div>
    </search>
  );
}
