import { readFile } from "node:fs/promises";

/**
 * Who gets a mail of a notice: its organization's admins, or your own developers for an event that was rejected. Who they are is the
 * product's to know. Replace this function by a look at your users; here it is a file.
 *
 * @returns addresses; none where nobody is to be told
 */
export async function recipientsOf(notice) {
  const { organizations, developers } = JSON.parse(await readFile(process.env.RECIPIENTS_FILE ?? "recipients.json"));
  if (notice.type === "event.rejected") return developers;
  return Object.hasOwn(organizations, notice.organizationId) ? organizations[notice.organizationId] : [];
}
