import type { EndpointDetails } from "@herald/contracts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { saveWebhook } from "../../api/queries.ts";

/** Pauses or resumes a webhook: an edit that changes nothing but its Active flag (SPEC 3.1). */
export function useSwitchWebhook(webhook: EndpointDetails, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (enabled: boolean) => {
      const { name, url, events, version } = webhook;
      return saveWebhook(webhook.id, { name, url, events, enabled, rotateSecret: false, version });
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["webhook", webhook.id] });
      void client.invalidateQueries({ queryKey: ["overview"] });
      void client.invalidateQueries({ queryKey: ["deliveries", webhook.id] });
      onDone();
    },
    // After a conflict, the next press must be made with the newest version.
    onError: () => client.invalidateQueries({ queryKey: ["webhook", webhook.id] }),
  });
}
