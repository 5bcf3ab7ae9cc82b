import { EVENT_TYPES, type EventType, type EventTypeInfo } from "@herald/contracts";
import { useId } from "react";
import { Icon } from "../../common/display/Icon.tsx";
import controls from "../../common/form/controls.module.css";
import css from "./EventSelection.module.css";

interface Props {
  types: readonly EventTypeInfo[];
  selected: readonly EventType[];
  onChange: (selected: EventType[]) => void;
  readOnly: boolean;
}

/** The events to choose from, each with what it means and what one should know beforehand (SPEC 6). */
export function EventSelection({ types, selected, onChange, readOnly }: Props) {
  const toggle = (name: EventType, on: boolean): void =>
    onChange(EVENT_TYPES.filter((type) => (type === name ? on : selected.includes(type))));
  return (
    <ul className={css.list}>
      {EVENT_TYPES.map((name) => (
        <Choice
          key={name}
          name={name}
          about={types.find((type) => type.name === name)}
          checked={selected.includes(name)}
          onToggle={(on) => toggle(name, on)}
          readOnly={readOnly}
        />
      ))}
    </ul>
  );
}

interface ChoiceProps {
  name: EventType;
  about: EventTypeInfo | undefined;
  checked: boolean;
  onToggle: (on: boolean) => void;
  readOnly: boolean;
}

function Choice({ name, about, checked, onToggle, readOnly }: ChoiceProps) {
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
        {name}
      </label>
      <div id={`${id}-meaning`} className={css.meaning}>
        {about ? <p>{sentence(about.emittedWhen)}</p> : null}
        {about?.remark ? (
          <p className={css.remark}>
            <Icon name="alert" size={14} />
            <span>{about.remark}</span>
          </p>
        ) : null}
      </div>
    </li>
  );
}

function sentence(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}
