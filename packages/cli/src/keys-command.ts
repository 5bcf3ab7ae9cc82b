import { secretSettings } from "@herald/common/config/common-settings";
import { readConfig, readSetting } from "@herald/common/config/read-config";
import type { Queries, Reads } from "@herald/common/database/queries";
import { machineClock as ownClock } from "@herald/common/runtime/clock";
import { KEY_ID, keyMark, newSealingKeys, readSealingKey, sealingKeyOf } from "@herald/common/security/sealing-keys";
import { headerContext, type SealedHeaders, type SecretBox, secretBox } from "@herald/common/security/secret-box";
import { livingProcesses, SILENT_SECONDS } from "@herald/common/service/processes";
import { action, type Command, positiveInteger, UsageError } from "./command.ts";
import { withDatabase } from "./connections.ts";

const MAX_UNREADABLE_SHOWN = 20;

const make = action({
  changes: false,
  usage: "[--id ID]",
  options: { id: { type: "string" } },
  run(values, { stdout, machineClock = ownClock }) {
    const { id } = values;
    if (id !== undefined && !KEY_ID.test(id)) {
      throw new UsageError(`--id takes 1 to 32 letters, digits, "-" or "_", not "${id}".`);
    }
    const day = machineClock.now().toISOString().slice(0, "2026-01-31".length);
    const { SECRET_KEYS, SECRET_SEALING_KEY } = newSealingKeys(id ?? ((hash) => `${day}-${hash.slice(0, 4)}`));
    stdout(`# Private: for dispatchers, herald keys rotate and herald doctor. Keep a copy elsewhere.
SECRET_KEYS=${SECRET_KEYS}
# Public: for the management API.
SECRET_SEALING_KEY=${SECRET_SEALING_KEY}
`);
  },
});

const rotate = action({
  changes: (values) => !values["dry-run"],
  usage: "[--dry-run] [--page-size 500]",
  options: { "dry-run": { type: "boolean", default: false }, "page-size": { type: "string", default: "500" } },
  async run(values, context) {
    const options = { dryRun: values["dry-run"], pageSize: positiveInteger("--page-size", values["page-size"]) };
    const { SECRET_KEYS } = readConfig(secretSettings, context.environment);
    const box = readSetting("SECRET_KEYS", () => secretBox(SECRET_KEYS));
    const { stdout, progress } = context;
    const { secrets, resealed, overtaken, unreadable } = await withDatabase(context, async (queries) => {
      await assertDispatchersOpen(queries, SECRET_KEYS);
      return await rotateKeys(queries, box, options, (soFar) =>
        progress(`${soFar.secrets} secrets, ${soFar.resealed} sealed`),
      );
    });
    stdout(`${resealed} of ${secrets} secrets ${options.dryRun ? "would be" : "were"} sealed again.\n`);
    if (unreadable.length > 0) {
      const shown = unreadable
        .slice(0, MAX_UNREADABLE_SHOWN)
        .map(({ endpointId, reason }) => `  ${endpointId}: ${reason}`);
      throw new Error(
        `${unreadable.length} secrets can't be opened, so nothing is sent to their endpoints either:\n${shown.join("\n")}`,
      );
    }
    if (overtaken > 0) {
      throw new Error(`${overtaken} secrets were replaced meanwhile; run it again to see whether to the newest key.`);
    }
    if (!options.dryRun) {
      stdout(
        "All are sealed to the newest key. The older ones can leave SECRET_KEYS once every management API seals to the newest too.\n",
      );
    }
    return { secrets, resealed };
  },
});

export const keysCommand: Command = {
  summary: "makes and replaces the keys that seal endpoints' signing secrets and own headers",
  actions: { make, rotate },
  help: `  make     prints a pair of keys as two lines of an environment file, and keeps nothing:
           SECRET_KEYS          private, it opens: for dispatchers, herald keys rotate and herald doctor. Keep a copy elsewhere:
                                without it no signing secret can be opened, and the admins have to replace them all
           SECRET_SEALING_KEY   public, it seals and can't open: for the management API. It is no secret
  rotate   seals every signing secret, and every value of an own header, to the newest key of SECRET_KEYS. It refuses if a dispatcher
           at work lacks that key. It fails if a secret can't be opened: it names those, and seals the others all the same

  --id ID         how each secret names the pair that it is sealed to: 1 to 32 letters, digits, "-" or "_"; today's date and
                  four digits of the key's hash where it is not given. It must stay with the pair, and no other pair may have it
  --dry-run       says how many secrets it would seal again, and changes nothing
  --page-size N   endpoints that it reads and writes at a time

The signing secrets themselves stay: receivers notice nothing, and no endpoint's version changes. A rotation may run beside
services, and after an interruption it may run again. To replace a pair of keys:

  1. herald keys make
  2. give all dispatchers SECRET_KEYS with the new key first ("new:...,old:..."), so that each opens what is sealed to either
  3. give all management APIs the new SECRET_SEALING_KEY
  4. herald keys rotate, with the SECRET_KEYS of step 2, until it says that all are sealed to the newest key
  5. remove the old key from SECRET_KEYS; herald doctor says whether what is left opens all that is and will be sealed
`,
};

interface SealedTexts {
  endpointId: string;
  sealedSecret: string;
  headers: SealedHeaders | null;
}

/** @throws if a dispatcher at work can't open what the rotation would seal: nothing would be sent any more */
async function assertDispatchersOpen(reads: Reads, secretKeys: string): Promise<void> {
  const newest = keyMark(readSealingKey(sealingKeyOf(secretKeys)));
  const lacking = (await livingProcesses(reads))
    .filter(
      ({ facts: { SECRET_KEYS } }) => typeof SECRET_KEYS === "string" && !SECRET_KEYS.split(", ").includes(newest),
    )
    .map(({ service, name }) => `${service} ${name}`);
  if (lacking.length === 0) return;
  throw new Error(
    `Nothing was changed. SECRET_KEYS of ${lacking.join(", ")} lacks the key ${newest}, so nothing could be sent. Give it the SECRET_KEYS of ` +
      `this command, and run this again ${SILENT_SECONDS} seconds later.`,
  );
}

const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** All that is sealed, by endpoint, in pages; the last one may be empty. Locks nothing. Walks webhook_endpoint_pkey. */
async function* sealedTexts(reads: Reads, pageSize: number): AsyncGenerator<SealedTexts[]> {
  for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
    const page: SealedTexts[] = await reads.$queryRaw<SealedTexts[]>`
      select id as "endpointId", sealed_secret as "sealedSecret", headers
      from webhook_endpoint
      where id > ${after}::uuid
      order by id
      limit ${pageSize}`;
    yield page;
    after = page.length < pageSize ? undefined : page.at(-1)?.endpointId;
  }
}

export interface Rotation {
  /** Secrets that were read: signing secrets, and values of own headers. */
  secrets: number;
  /** Those that it sealed to the newest key; in a dry run, those that it would seal. */
  resealed: number;
  /** Those that an edit or another rotation replaced between the reading and the writing. */
  overtaken: number;
  unreadable: { endpointId: string; reason: string }[];
}

/**
 * Seals every endpoint's secret and own headers to the newest key, page by page. It skips what is sealed to that key already, so the
 * next run finishes one that was interrupted.
 */
export async function rotateKeys(
  queries: Queries,
  box: SecretBox,
  { pageSize, dryRun }: { pageSize: number; dryRun: boolean },
  onPage: (soFar: Rotation) => void = () => undefined,
): Promise<Rotation> {
  const total: Rotation = { secrets: 0, resealed: 0, overtaken: 0, unreadable: [] };
  function sealAgain(endpointId: string, sealed: string, name?: string): string {
    if (box.isSealedWithNewest(sealed)) return sealed;
    const context = name === undefined ? endpointId : headerContext(endpointId, name);
    try {
      return box.seal(box.open(sealed, context), context);
    } catch (error) {
      const of = name === undefined ? "" : `its header ${name}: `;
      total.unreadable.push({ endpointId, reason: of + (error as Error).message });
      return sealed;
    }
  }
  for await (const page of sealedTexts(queries, pageSize)) {
    const changes: Change[] = page.map((before) => {
      const { endpointId, sealedSecret, headers } = before;
      const secret = sealAgain(endpointId, sealedSecret);
      const values = Object.entries(headers ?? {}).map(([name, sealed]) => [name, sealAgain(endpointId, sealed, name)]);
      const isNew = [secret !== sealedSecret, ...values.map(([name = "", sealed]) => sealed !== headers?.[name])];
      total.secrets += isNew.length;
      return { before, secret, headers: headers && Object.fromEntries(values), count: isNew.filter(Boolean).length };
    });
    const due = changes.filter(({ count }) => count > 0);
    const written = dryRun || due.length === 0 ? due : await writeSealed(queries, due);
    const resealed = sum(written);
    total.resealed += resealed;
    total.overtaken += sum(due) - resealed;
    onPage(total);
  }
  return total;
}

/** What an endpoint's row gets, and how many secrets of it are sealed again. */
interface Change {
  before: SealedTexts;
  secret: string;
  headers: SealedHeaders | null;
  count: number;
}

const sum = (changes: readonly { count: number }[]) => changes.reduce((total, { count }) => total + count, 0);

/**
 * Writes the same secrets again, sealed to another key. An endpoint with a secret or a header that was replaced since it was read stays as it is. The
 * endpoint's configuration does not change, so neither does its revision. Returns the changes that it wrote.
 *
 * Locks those endpoints, in the order of their ids, as every statement does that locks several. Walks webhook_endpoint_pkey.
 */
async function writeSealed(queries: Queries, changes: readonly Change[]): Promise<{ count: number }[]> {
  const json = (headers: SealedHeaders | null) => headers && JSON.stringify(headers);
  return await queries.$queryRaw<{ count: number }[]>`
    with change as (
      select * from unnest(
        ${changes.map(({ before }) => before.endpointId)}::uuid[],
        ${changes.map(({ before }) => before.sealedSecret)}::text[],
        ${changes.map(({ before }) => json(before.headers))}::jsonb[],
        ${changes.map(({ secret }) => secret)}::text[],
        ${changes.map(({ headers }) => json(headers))}::jsonb[],
        ${changes.map(({ count }) => count)}::int[]
      ) as change (endpoint_id, secret_before, headers_before, secret, headers, count)
    ), locked as materialized (
      select endpoint.id, change.secret, change.headers, count
      from webhook_endpoint as endpoint
      join change on change.endpoint_id = endpoint.id and change.secret_before = endpoint.sealed_secret
        and change.headers_before is not distinct from endpoint.headers
      order by endpoint.id
      for no key update of endpoint
    )
    update webhook_endpoint
    set sealed_secret = locked.secret, headers = locked.headers
    from locked
    where webhook_endpoint.id = locked.id
    returning count`;
}
