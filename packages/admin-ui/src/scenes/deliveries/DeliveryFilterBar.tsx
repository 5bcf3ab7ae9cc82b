import { ID_PREFIX, OUTCOMES, type Outcome } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import {
  type DeliveryFilters,
  filtersToSearch,
  isNarrowed,
  PERIODS,
  type Period,
  STATUS,
} from "../../api/delivery-filters.ts";
import { eventTypesQuery, overviewQuery } from "../../api/queries.ts";
import { outcomeMeaning, outcomeWords } from "../../common/display/status.ts";
import { Button } from "../../common/form/Button.tsx";
import { Choices, Select } from "../../common/form/Field.tsx";
import controls from "../../common/form/form.module.css";
import css from "./deliveries.module.css";

const periodWords: Record<Period, string> = { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days" };
const DAYS = "days";
const WEEK_MS = 7 * 24 * 3_600_000;

type Field = "outcome" | "webhook" | "status" | "id";
type Narrow = (change: Partial<DeliveryFilters>) => void;

interface Props {
  filters: DeliveryFilters;
  /** The events of the one webhook that the list is of. */
  subscribed?: readonly string[];
  home: string;
  /** What the list can be narrowed by besides event and period. */
  fields: readonly Field[];
}

/** Narrows a list of deliveries or events. The choice is in the page's address. */
export function DeliveryFilterBar({ filters, subscribed = [], home, fields }: Props) {
  const [, go] = useLocation();
  const narrow: Narrow = (change) => {
    const search = filtersToSearch({ ...filters, ...change }).toString();
    go(search ? `${home}?${search}` : home, { replace: true });
  };
  const [outcome] = filters.outcomes;
  return (
    <search className={css.bar}>
      {fields.includes("outcome") ? (
        <Choices<Outcome | "all">
          name="Outcome"
          value={outcome ?? "all"}
          options={[
            { value: "all", words: "All" },
            ...OUTCOMES.map((value) => ({ value, words: outcomeWords[value], hint: outcomeMeaning[value] })),
          ]}
          onChange={(value) => narrow({ outcomes: value === "all" ? [] : [value] })}
        />
      ) : null}
      <div className={css.selects}>
        {fields.includes("webhook") ? <Webhook filters={filters} narrow={narrow} /> : null}
        <Event filters={filters} subscribed={subscribed} narrow={narrow} />
        <Time filters={filters} narrow={narrow} />
        {fields.includes("status") ? (
          <Text
            name="Response status"
            placeholder="Status"
            size={6}
            rule={STATUS}
            value={filters.status}
            onChange={(status) => narrow({ status })}
          />
        ) : null}
        {fields.includes("id") ? (
          <Text
            name="Id of the event or its entity: the first eight digits or more"
            placeholder="Id begins with"
            size={14}
            rule={ID_PREFIX}
            value={filters.idPrefix}
            onChange={(idPrefix) => narrow({ idPrefix })}
          />
        ) : null}
        {isNarrowed(filters) ? (
          <Button kind="quiet" icon="cross" onClick={() => go(home, { replace: true })}>
            Clear
          </Button>
        ) : null}
      </div>
    </search>
  );
}

function Webhook({ filters, narrow }: { filters: DeliveryFilters; narrow: Narrow }) {
  const { data: webhooks = [] } = useQuery(overviewQuery);
  const isKnown = webhooks.some(({ id }) => id === filters.webhook);
  return (
    <Select
      aria-label="Webhook"
      value={filters.webhook ?? ""}
      onChange={({ target }) => narrow({ webhook: target.value === "" ? null : target.value })}
    >
      <option value="">Every webhook</option>
      {filters.webhook && !isKnown ? <option value={filters.webhook}>Another webhook</option> : null}
      {webhooks.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </Select>
  );
}

interface EventProps {
  filters: DeliveryFilters;
  subscribed: readonly string[];
  narrow: Narrow;
}

function Event({ filters, subscribed, narrow }: EventProps) {
  const [eventType] = filters.eventTypes;
  const { data: catalogue = [] } = useQuery(eventTypesQuery);
  // Until the catalogue is there, and where it has lost a type, these are known all the same.
  const known = [...new Set([...catalogue.map(({ name }) => name), ...subscribed, ...filters.eventTypes])];
  const options = (types: readonly string[]) => types.map((type) => <option key={type}>{type}</option>);
  return (
    <Select
      aria-label="Event"
      value={eventType ?? ""}
      onChange={({ target }) => narrow({ eventTypes: target.value === "" ? [] : [target.value] })}
    >
      <option value="">Every event</option>
      {subscribed.length === 0 ? (
        options(known)
      ) : (
        <>
          <optgroup label="Subscribed">{options(known.filter((type) => subscribed.includes(type)))}</optgroup>
          <optgroup label="Others">{options(known.filter((type) => !subscribed.includes(type)))}</optgroup>
        </>
      )}
    </Select>
  );
}

/** A time that ends now, or between two days. */
function Time({ filters: { period, from, to }, narrow }: { filters: DeliveryFilters; narrow: Narrow }) {
  const hasDays = from !== null || to !== null;
  const choose = (value: string): void =>
    narrow({
      period: PERIODS.find((each) => each === value) ?? null,
      from: value === DAYS ? dayOf(new Date(Date.now() - WEEK_MS)) : null,
      to: null,
    });
  return (
    <>
      <Select
        aria-label="Period"
        value={hasDays ? DAYS : (period ?? "")}
        onChange={({ target }) => choose(target.value)}
      >
        <option value="">Any time</option>
        {PERIODS.map((each) => (
          <option key={each} value={each}>
            {periodWords[each]}
          </option>
        ))}
        <option value={DAYS}>Between two days</option>
      </Select>
      {hasDays ? (
        <span className={css.days}>
          <Day name="First day" value={from} onChange={(day) => narrow({ from: day })} />
          <Day name="Last day" value={to} onChange={(day) => narrow({ to: day })} />
        </span>
      ) : null}
    </>
  );
}

function dayOf(time: Date): string {
  const digits = (value: number) => String(value).padStart(2, "0");
  return `${time.getFullYear()}-${digits(time.getMonth() + 1)}-${digits(time.getDate())}`;
}

interface ValueProps {
  name: string;
  value: string | null;
  onChange: (value: string | null) => void;
}

function Day({ name, value, onChange }: ValueProps) {
  return (
    <input
      type="date"
      className={controls.input}
      aria-label={name}
      data-hint={name}
      value={value ?? ""}
      onChange={({ target }) => onChange(target.value || null)}
    />
  );
}

interface TextProps extends ValueProps {
  placeholder: string;
  size: number;
  rule: RegExp;
}

/** A text that narrows as soon as it keeps its rule. */
function Text({ name, placeholder, size, rule, value, onChange }: TextProps) {
  const [text, setText] = useState(value ?? "");
  useEffect(() => setText((before) => (value === null && !rule.test(before) ? before : (value ?? ""))), [value, rule]);
  return (
    <input
      type="text"
      className={`${controls.input} ${css.idField}`}
      aria-label={name}
      data-hint={name}
      placeholder={placeholder}
      size={size}
      value={text}
      onChange={({ target }) => {
        const next = target.value.trim();
        setText(next);
        const wanted = rule.test(next) ? next : null;
        if (wanted !== value) onChange(wanted);
      }}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
