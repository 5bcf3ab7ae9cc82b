import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { eventTypesQuery } from "../../api/queries.ts";
import { Skeleton } from "../../common/feedback/Skeleton.tsx";
import controls from "../../common/form/controls.module.css";
import { Field, Problems } from "../../common/form/Field.tsx";
import { Switch } from "../../common/form/Switch.tsx";
import { useSession } from "../../common/session.tsx";
import { EventSelection } from "./EventSelection.tsx";
import type { Draft, DraftField } from "./edits.ts";
import css from "./webhook-form.module.css";

interface Props {
  draft: Draft;
  onChange: (field: DraftField, change: Partial<Draft>) => void;
  onLeave: (field: DraftField) => void;
  problemsOf: (field: DraftField) => string[];
  readOnly: boolean;
}

/** The controls that a webhook is made of, by the names that SPEC 1 gives them. */
export function WebhookFields({ draft, onChange, onLeave, problemsOf, readOnly }: Props) {
  const { limits } = useSession();
  const events = useQuery(eventTypesQuery);
  const problemId = useId();
  const characters = [...draft.name].length;
  return (
    <>
      <Field
        label="Name"
        hint="How you and your colleagues recognize it."
        problems={problemsOf("name")}
        aside={
          characters > limits.nameCharacters * 0.8 ? (
            <span className={css.count}>
              {characters} of {limits.nameCharacters}
            </span>
          ) : null
        }
      >
        {(attributes) => (
          <input
            {...attributes}
            className={controls.input}
            name="name"
            value={draft.name}
            onChange={({ target }) => onChange("name", { name: target.value })}
            onBlur={() => onLeave("name")}
            readOnly={readOnly}
            autoComplete="off"
            required
          />
        )}
      </Field>
      <Field
        label="Endpoint URL"
        hint="An HTTPS address on the public internet, without credentials. Give the final one: redirects are not followed. Saving does not test it."
        problems={problemsOf("url")}
      >
        {(attributes) => (
          <input
            {...attributes}
            className={`${controls.input} ${controls.mono}`}
            name="url"
            type="url"
            inputMode="url"
            placeholder="https://receiver.example/webhooks"
            value={draft.url}
            onChange={({ target }) => onChange("url", { url: target.value })}
            onBlur={() => onLeave("url")}
            readOnly={readOnly}
            autoComplete="off"
            spellCheck={false}
            required
          />
        )}
      </Field>
      <fieldset className={css.events} aria-describedby={problemId}>
        <legend className={css.legend}>Event selection</legend>
        <Problems id={problemId} problems={problemsOf("events")} />
        {events.data ? (
          <EventSelection
            types={events.data}
            selected={draft.events}
            onChange={(selected) => onChange("events", { events: selected })}
            readOnly={readOnly}
          />
        ) : (
          <Skeleton rows={3} what="the events" />
        )}
      </fieldset>
      <Switch
        label="Active"
        hint={
          draft.enabled
            ? "Deliveries are sent as events happen."
            : "Nothing is sent. Events of up to seven days are caught up on when it is switched on."
        }
        checked={draft.enabled}
        onChange={(enabled) => onChange("enabled", { enabled })}
        disabled={readOnly}
      />
    </>
  );
}
