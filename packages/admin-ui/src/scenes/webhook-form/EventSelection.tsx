import type { EventTypeInfo } from "@herald/contracts";
import { useId } from "react";
import { Icon } from "../../common/display/Icon.tsx";
import { Button } from "../../common/form/Button.tsx";
import controls from "../../common/form/controls.module.css";
import css from "./webhook-form.module.css";

interface Props {
  types: readonly EventTypeInfo[];
  selected: readonly string[];
  onChange: (selected: string[]) => void;
  readOnly: boolean;
}

/** The events to choose from, each with what it means and what one should know beforehand (SPEC 6). */
export function EventSelection({ types, selected, onChange, readOnly }: Props) {
  const toggle = (name: string, on: boolean): void =>
    onChange(types.map((type) => type.name).filter((each) => (each === name ? on : selected.includes(each))));
  const all = types.map(({ name }) => name);
  const hasAll = all.every((name) => selected.includes(name));
  return (
    <>
      {readOnly ? null : (
        <Button className={css.all} kind="quiet" onClick={() => onChange(hasAll ? [] : all)}>
          {hasAll ? "Select none" : `Select all ${all.length}`}
        </Button>
      )}
      <ul className={css.list}>
        {types.map((type) => (
          <Choice
            key={type.name}
            type={type}
            checked={selected.includes(type.name)}
            onToggle={(on) => toggle(type.name, on)}
            readOnly={readOnly}
          />
        ))}
      </ul>
    </>
  );
}

interface ChoiceProps {
  type: EventTypeInfo;
  checked: boolean;
  onToggle: (on: boolean) => void;
  readOnly: boolean;
}

function Choice({ type, checked, onToggle, readOnly }: ChoiceProps) {
  const id = useId();
  return (
    <li className={css.choice}>
      <input
        id={id}
        type="checkbox"
        className={controls.checkbox}
        checked={checked}
        onChange={({ target }) => onToggle(target.checked)}
        disabled={readOnly}
        aria-describedby={`${id}-meaning`}
      />
      <label htmlFor={id} className={css.name}>
        {type.name}
      </label>
      <div id={`${id}-meaning`} className={css.meaning}>
        <p>{sentence(type.emittedWhen)}</p>
        {type.remark ? (
          <p className={css.remark}>
            <Icon name="alert" size={14} />
            <span>{type.remark}</span>
          </p>
        ) : null}
      </div>
    </li>
  );
}

function sentence(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}
