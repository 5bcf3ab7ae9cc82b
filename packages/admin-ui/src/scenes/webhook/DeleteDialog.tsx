import type { EndpointDetails } from "@herald/contracts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { deleteWebhook } from "../../api/queries.ts";
import { announce } from "../../common/feedback/announce.ts";
import { ProblemNotice } from "../../common/feedback/Notice.tsx";
import { Button } from "../../common/form/Button.tsx";
import controls from "../../common/form/controls.module.css";
import { Field } from "../../common/form/Field.tsx";
import { Dialog } from "../../common/overlay/Dialog.tsx";
import css from "./webhook.module.css";

const FORM = "delete-webhook";

export function DeleteDialog({ webhook, onClose }: { webhook: EndpointDetails; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [, go] = useLocation();
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteWebhook(webhook.id, webhook.version),
    onSuccess: async () => {
      go("/");
      announce(`${webhook.name} is deleted.`);
      client.removeQueries({ queryKey: ["webhook", webhook.id] });
      client.removeQueries({ queryKey: ["deliveries", webhook.id] });
      await client.invalidateQueries({ queryKey: ["overview"] });
    },
    onError: () => client.invalidateQueries({ queryKey: ["webhook", webhook.id] }),
  });
  const matches = typed.trim() === webhook.name.trim();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (matches && !remove.isPending) remove.mutate();
  };
  return (
    <Dialog
      title={`Delete ${webhook.name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="danger"
            type="submit"
            form={FORM}
            busy={remove.isPending}
            disabledReason={matches ? null : "Type the webhook's name first."}
          >
            Delete webhook
          </Button>
        </>
      }
    >
      <form id={FORM} className={css.content} onSubmit={submit}>
        {remove.error ? <ProblemNotice error={remove.error} what="It was not deleted." /> : null}
        <p>
          <strong>Its delivery history goes too</strong>, with every unfinished delivery. This can't be undone. To stop
          sending and keep the history, pause it instead.
        </p>
        <ul className={css.points}>
          <li>What the receiver has got already stays there.</li>
          <li>A request that is under way may still arrive.</li>
        </ul>
        <Field label={`Type “${webhook.name}” to confirm`}>
          {(attributes) => (
            <input
              {...attributes}
              className={controls.input}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              autoComplete="off"
              spellCheck={false}
              data-autofocus
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
