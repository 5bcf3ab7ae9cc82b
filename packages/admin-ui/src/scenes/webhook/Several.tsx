import type { EndpointOverview } from "@herald/contracts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { classNames } from "../../common/class-names.ts";
import { StatusBadge } from "../../common/display/Badge.tsx";
import { endpointStatus } from "../../common/display/status.ts";
import { announce } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import { Choices } from "../../common/form/Field.tsx";
import controls from "../../common/form/form.module.css";
import { counted } from "../../common/formats.ts";
import { Confirmation } from "../../common/overlay/Dialog.tsx";
import { useManageBlock } from "../../common/session.tsx";
import shared from "../../common/shared.module.css";
import { useKeys } from "../../common/unsaved.ts";
import { switchWebhook } from "./dialogs.tsx";
import css from "./webhook.module.css";

export function SeveralButton({ webhooks }: { webhooks: readonly EndpointOverview[] }) {
  const [asking, setAsking] = useState(false);
  const block = useManageBlock();
  return (
    <>
      <Button disabledReason={block} onClick={() => setAsking(true)}>
        Pause or resume several…
      </Button>
      {asking ? <SeveralDialog webhooks={webhooks} onClose={() => setAsking(false)} /> : null}
    </>
  );
}

const OPTIONS = (["Pause", "Resume"] as const).map((value) => ({ value, words: value }));

/** Pauses or resumes webhooks one after another, until one fails. Those that are done leave the list, and the others stay chosen. */
function SeveralDialog({ webhooks, onClose }: { webhooks: readonly EndpointOverview[]; onClose: () => void }) {
  const client = useQueryClient();
  const keys = useKeys();
  const [verb, setVerb] = useState<"Pause" | "Resume">(webhooks.some(({ enabled }) => enabled) ? "Pause" : "Resume");
  const [ids, setIds] = useState<readonly string[]>([]);
  const [current, setCurrent] = useState("");
  const enabled = verb === "Resume";
  const done = enabled ? "resumed" : "paused";
  const listed = webhooks.filter((webhook) => webhook.enabled !== enabled);
  const chosen = listed.filter(({ id }) => ids.includes(id));
  const change = useMutation({
    mutationFn: async (chosen: readonly EndpointOverview[]) => {
      for (const webhook of chosen) {
        setCurrent(webhook.name);
        await switchWebhook(webhook, enabled, keys);
      }
    },
    onSuccess: (_, chosen) => {
      announce(`${counted(chosen.length, "webhook is", "webhooks are")} ${done}.`);
      onClose();
    },
    onSettled: () => client.invalidateQueries(),
  });
  return (
    <Confirmation
      title="Pause or resume several webhooks"
      verb={`${verb} ${counted(chosen.length, "webhook", "webhooks")}`}
      icon={enabled ? "play" : "pause"}
      block={chosen.length === 0 ? "Choose webhooks first." : null}
      mutation={change}
      done={done}
      subject={current}
      onConfirm={() => change.mutate(chosen)}
      onClose={onClose}
    >
      <div className={shared.bar}>
        <Choices name="What to do" value={verb} options={OPTIONS} onChange={setVerb} />
        <Button kind="quiet" onClick={() => setIds(listed.map(({ id }) => id))}>
          Select all {listed.length}
        </Button>
      </div>
      <p>
        {enabled
          ? "What waits for them is sent, and their count of failures starts at zero."
          : "Nothing is sent to them until you resume them. What comes meanwhile waits, for up to seven days."}
      </p>
      <fieldset className={classNames(shared.boxed, shared.ruled)}>
        <legend className={shared.unseen}>Webhooks</legend>
        {listed.map((webhook) => (
          <label key={webhook.id} className={classNames(shared.row, css.several)}>
            <input
              type="checkbox"
              className={controls.checkbox}
              checked={ids.includes(webhook.id)}
              onChange={({ target }) =>
                setIds(target.checked ? [...ids, webhook.id] : ids.filter((id) => id !== webhook.id))
              }
            />
            <span>{webhook.name}</span>
            <StatusBadge status={endpointStatus(webhook)} />
          </label>
        ))}
      </fieldset>
    </Confirmation>
  );
}
