import type { EventTypeInfo } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { addressesFrom } from "../../api/client.ts";
import { eventTypesQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { Code } from "../../common/display/Code.tsx";
import { Icon } from "../../common/display/Icon.tsx";
import { Skeleton } from "../../common/feedback/LoadError.tsx";
import { Button } from "../../common/form/Button.tsx";
import { Problems, TextField } from "../../common/form/Field.tsx";
import controls from "../../common/form/form.module.css";
import shared from "../../common/shared.module.css";
import { type Draft, headerNames } from "./edits.ts";
import { HeaderFields } from "./HeaderFields.tsx";
import type { WebhookForm } from "./use-webhook-form.ts";
import css from "./webhook.module.css";

/** The controls that a webhook is made of, by the names that SPEC 1 gives them, and its own headers. @param base the webhook as it is stored */
export function WebhookFields({ form, base, readOnly }: { form: WebhookForm; base: Draft; readOnly: boolean }) {
  const { draft, change: onChange, leave: onLeave, problems: problemsOf } = form;
  const events = useQuery(eventTypesQuery);
  const problemId = useId();
  const activeId = useId();
  return (
    <>
      <TextField
        label="Name"
        hint="How you and your colleagues recognize it."
        problems={problemsOf("name")}
        name="name"
        value={draft.name}
        onChange={(name) => onChange("name", { name })}
        onBlur={() => onLeave("name")}
        readOnly={readOnly}
        required
      />
      <TextField
        label="Endpoint URL"
        hint="An HTTPS address on the public internet, without credentials. Give the final one: redirects are not followed. Nothing is sent to it when you save."
        problems={problemsOf("url")}
        mono
        name="url"
        type="url"
        inputMode="url"
        placeholder="https://receiver.example/webhooks"
        value={draft.url}
        onChange={(url) => onChange("url", { url })}
        onBlur={() => onLeave("url")}
        readOnly={readOnly}
        required
      />
      <fieldset className={shared.column} aria-describedby={problemId}>
        <legend className={classNames(shared.small, shared.strong)}>Event selection</legend>
        <Problems id={problemId} problems={problemsOf("events")} />
        {events.data ? (
          <EventSelection
            types={events.data}
            selected={draft.events}
            onChange={(selected) => onChange("events", { events: selected })}
            readOnly={readOnly}
          />
        ) : (
          <Skeleton what="the events" />
        )}
      </fieldset>
      <HeaderFields
        rows={draft.headers}
        stored={headerNames(base)}
        isMoved={isOtherServer(draft.url, base.url)}
        faultAt={form.headerFault}
        onChange={(headers) => onChange("headers", { headers })}
        problems={problemsOf("headers")}
        readOnly={readOnly}
      />
      <div className={controls.switch}>
        <input
          id={activeId}
          type="checkbox"
          role="switch"
          className={controls.track}
          aria-checked={draft.enabled}
          checked={draft.enabled}
          onChange={({ target }) => onChange("enabled", { enabled: target.checked })}
          disabled={readOnly}
          aria-describedby={`${activeId}-hint`}
        />
        <div>
          <label htmlFor={activeId} className={classNames(shared.strong, shared.small)}>
            Active
          </label>
          <p id={`${activeId}-hint`} className={shared.note}>
            {draft.enabled
              ? "Deliveries are sent as events happen."
              : "Nothing is sent. Events of up to seven days are caught up on when it is switched on."}
          </p>
        </div>
      </div>
    </>
  );
}

/** Whether a URL that is being typed is of another server than the stored one. Half a URL is not judged. */
function isOtherServer(typed: string, stored: string): boolean {
  return URL.canParse(typed) && URL.canParse(stored) && new URL(typed).origin !== new URL(stored).origin;
}

interface EventSelectionProps {
  types: readonly EventTypeInfo[];
  selected: readonly string[];
  onChange: (selected: string[]) => void;
  readOnly: boolean;
}

/** The events to choose from, each with what it means and what one should know beforehand (SPEC 6). */
export function EventSelection({ types, selected, onChange, readOnly }: EventSelectionProps) {
  const toggle = (name: string, on: boolean): void =>
    onChange(types.map((type) => type.name).filter((each) => (each === name ? on : selected.includes(each))));
  const all = types.map(({ name }) => name);
  const hasAll = all.every((name) => selected.includes(name));
  return (
    <>
      {readOnly ? null : (
        <Button className={css.atStart} onClick={() => onChange(hasAll ? [] : all)}>
          {hasAll ? "Select none" : `Select all ${all.length}`}
        </Button>
      )}
      <ul className={classNames(shared.boxed, shared.ruled)}>
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
    <li className={css.eventChoice}>
      <input
        id={id}
        type="checkbox"
        className={controls.checkbox}
        checked={checked}
        onChange={({ target }) => onToggle(target.checked)}
        disabled={readOnly}
        aria-describedby={`${id}-meaning`}
      />
      <label htmlFor={id} className={css.eventName}>
        {type.name}
      </label>
      <div id={`${id}-meaning`} className={classNames(shared.soft, css.meaning)}>
        <p>{sentence(type.emittedWhen)}</p>
        {type.remark ? (
          <p className={classNames(shared.iconed, css.remark)}>
            <Icon name="alert" size={14} />
            <span>{type.remark}</span>
          </p>
        ) : null}
      </div>
      <Sample type={type} />
    </li>
  );
}

function Sample({ type: { name, sample } }: { type: EventTypeInfo }) {
  const [open, setOpen] = useState(false);
  return (
    <details className={css.sample} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className={shared.note}>
        Sample and schema<span className={shared.unseen}> of {name}</span>
      </summary>
      {open ? (
        <div className={shared.column}>
          <Code what={`sample of ${name}`} text={sample} />
          <a
            className={shared.note}
            href={`${addressesFrom(document.baseURI).schemas}/${name}.json`}
            target="_blank"
            rel="noreferrer"
          >
            JSON Schema of its body
          </a>
        </div>
      ) : null}
    </details>
  );
}

const sentence = (clause: string): string => `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
