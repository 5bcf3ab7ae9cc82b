import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import {
  FILTERS,
  type FilterName,
  type Filters,
  filtersFromSearch,
  filtersOf,
  type List,
  type Option,
  queryOf,
} from "../../api/filters.ts";
import { eventTypesQuery, overviewQuery } from "../../api/queries.ts";
import { classNames } from "../class-names.ts";
import { Button } from "../form/Button.tsx";
import { Choices, Select } from "../form/Field.tsx";
import controls from "../form/form.module.css";
import shared from "../shared.module.css";
import css from "./page.module.css";

export interface FilterBarProps {
  list: List;
  filters: Filters;
  home: string;
  /** The events of the one webhook that the list is of. */
  subscribed?: readonly string[];
}

export function FilterBar({ list, filters, home, subscribed = [] }: FilterBarProps) {
  const [, go] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const names = filtersOf(list);
  const { data: webhooks = [] } = useQuery({ ...overviewQuery, enabled: names.includes("webhook") });
  const { data: eventTypes = [] } = useQuery(eventTypesQuery);
  const narrow = (change: Filters): void => {
    const search = queryOf(filtersFromSearch(queryOf({ ...filters, ...change }), list)).toString();
    go(search ? `${home}?${search}` : home, { replace: true });
  };
  const control = (name: FilterName) => {
    const { kind, label, all = "", options: optionsOf, ...filter } = FILTERS[name];
    const chosen = filters[name] ?? [];
    const value = chosen[0] ?? "";
    const onChange = (next: string): void => narrow({ [name]: next === "" ? undefined : [next] });
    const options = [{ value: "", words: all }, ...(optionsOf?.({ webhooks, eventTypes, subscribed, chosen }) ?? [])];
    if (kind === "choices")
      return <Choices key={name} name={label} value={value} options={options} onChange={onChange} />;
    if (name === "period") return <Period key={name} options={options} filters={filters} narrow={narrow} />;
    if (kind === "select")
      return <Dropdown key={name} label={label} value={value} options={options} onChange={onChange} />;
    return kind === "text" ? <Text key={name} {...filter} label={label} value={value} onChange={onChange} /> : null;
  };
  const clear = (): void => {
    focusFirstFilter();
    go(home, { replace: true });
  };
  const others = names.filter((name) => FILTERS[name].kind !== "choices");
  return (
    <search className={classNames(shared.bar, shared.strip, css.filters)}>
      {names.filter((name) => !others.includes(name)).map(control)}
      <Button icon="filter" className={css.toggle} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Filters
      </Button>
      <div className={css.others}>
        {others.map(control)}
        {others.some((name) => filters[name]) ? (
          <Button kind="quiet" icon="cross" onClick={clear}>
            Clear
          </Button>
        ) : null}
      </div>
    </search>
  );
}

/** For a control that is gone when the filters are cleared: the focus would fall to the page's body. */
export function focusFirstFilter(): void {
  const controls = document.querySelectorAll<HTMLElement>("main search :is(input, select, button)");
  [...controls].find((control) => control.checkVisibility())?.focus();
}

interface ControlProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

function Dropdown({ label, value, options, onChange }: ControlProps & { options: readonly Option[] }) {
  const groups = Map.groupBy(options, ({ group }) => group);
  return (
    <Select aria-label={label} value={value} onChange={({ target }) => onChange(target.value)}>
      {[...groups].map(([group, members]) => {
        const items = members.map((option) => (
          <option key={option.value} value={option.value}>
            {option.words}
          </option>
        ));
        return group ? (
          <optgroup key={group} label={group}>
            {items}
          </optgroup>
        ) : (
          items
        );
      })}
    </Select>
  );
}

const DAYS = "days";
const WEEK_MS = 7 * 24 * 3_600_000;

interface PeriodProps {
  options: readonly Option[];
  filters: Filters;
  narrow: (change: Filters) => void;
}

function Period({ options, filters, narrow }: PeriodProps) {
  const hasDays = filters.from !== undefined || filters.to !== undefined;
  const choose = (value: string): void => {
    // Sweden writes days as the address does.
    const from = value === DAYS ? [new Date(Date.now() - WEEK_MS).toLocaleDateString("sv")] : undefined;
    narrow({ period: [value], from, to: undefined });
  };
  return (
    <>
      <Dropdown
        label={FILTERS.period.label}
        value={hasDays ? DAYS : (filters.period?.[0] ?? "")}
        options={[...options, { value: DAYS, words: "Between days" }]}
        onChange={choose}
      />
      {hasDays
        ? (["from", "to"] as const).map((name) => (
            <input
              key={name}
              type="date"
              className={controls.input}
              aria-label={FILTERS[name].label}
              data-hint={FILTERS[name].label}
              // While a part of a day is typed there is no value, and the field has to stay.
              defaultValue={filters[name]?.[0]}
              onChange={({ target }) => target.value && narrow({ [name]: [target.value] })}
              onBlur={({ target }) => target.value || narrow({ [name]: undefined })}
            />
          ))
        : null}
    </>
  );
}

interface TextProps extends ControlProps {
  accepts: (value: string) => boolean;
  placeholder?: string;
  size?: number;
}

function Text({ label, placeholder, size, accepts, value, onChange }: TextProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText((before) => (value === "" && !accepts(before) ? before : value)), [value, accepts]);
  return (
    <input
      type="text"
      className={controls.input}
      aria-label={label}
      data-hint={label}
      placeholder={placeholder}
      size={size}
      value={text}
      onChange={({ target }) => {
        const next = target.value.trim();
        setText(next);
        const wanted = accepts(next) ? next : "";
        if (wanted !== value) onChange(wanted);
      }}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
