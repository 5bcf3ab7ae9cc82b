import { rotateKeys } from "@herald/cli/keys-command";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox } from "@herald/common/security/secret-box";
import type { Service } from "@herald/common/service/run-service";
import { eventually } from "@herald/dev/harness/eventually";
import { startDispatcher } from "@herald/dispatcher";
import { startManagementApi } from "@herald/management-api";
import { verify } from "@herald/receiver";
import { afterEach, expect, test } from "@jest/globals";
import { apiClient } from "../../src/herald/api-client.ts";
import { heraldSettings } from "../../src/herald/settings.ts";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment({ dispatcher: false });
const [OLD, NEW] = [newSealingKeys("old"), newSealingKeys("new")];
const NEW_AND_OLD = `${NEW.SECRET_KEYS},${OLD.SECRET_KEYS}`;

const running = new Set<Service>();
afterEach(async () => {
  await Promise.all([...running].map((service) => service.stop()));
  running.clear();
});

/** Replaces a service as an orchestrator does: the next one runs before this one ends. */
async function replace(before: Service | undefined, start: () => Promise<Service>): Promise<Service> {
  const service = await start();
  running.add(service);
  if (before) {
    running.delete(before);
    await before.stop();
  }
  return service;
}

test("§2.3 the keys are rotated under running services, and no delivery fails or is unsigned", async () => {
  const { servers, receiver, emitter, clock, db } = environment;
  const { SECRET_KEYS: _keys, SECRET_SEALING_KEY: _sealingKey, ...settings } = heraldSettings(servers);
  const tuning = { sweepIntervalMs: 50 };
  const dispatcherWith = (keys: string, before?: Service) =>
    replace(before, () => startDispatcher({ ...settings, SECRET_KEYS: keys }, { clock, tuning }));
  let apiUrl = "";
  /** It has the public key alone, all the time. */
  const apiWith = (key: string, before?: Service) =>
    replace(before, async () => {
      const api = await startManagementApi({ ...settings, SECRET_SEALING_KEY: key }, { clock });
      apiUrl = `http://127.0.0.1:${api.port}`;
      return api;
    });

  const api = await apiWith(OLD.SECRET_SEALING_KEY);
  const dispatcher = await dispatcherWith(OLD.SECRET_KEYS);
  const admin = await apiClient(() => apiUrl, undefined, { untilAvailable: true });
  const secrets = new Map<string, string>();
  const create = async () => {
    const path = `/${secrets.size}`;
    const { signingSecret } = await admin.create({ url: receiver.url + path });
    secrets.set(path, signingSecret as string);
  };
  for (let count = 0; count < 12; count++) await create();

  /** Emits an event, and holds what each endpoint gets to its own secret. */
  async function everyEndpointGetsIts(): Promise<void> {
    const before = receiver.requests.length;
    await emitter.emit(environment.event({ organizationId: admin.organizationId }));
    await receiver.received(before + secrets.size);
    for (const { path, headers, body } of receiver.requests.slice(before)) {
      const secret = secrets.get(path) as string;
      expect(verify({ secret, headers, body, now: clock.now() })).toMatchObject({ ok: true });
    }
  }
  await everyEndpointGetsIts();

  // First all dispatchers open what is sealed to either key, then the API seals to the new one.
  const both = await dispatcherWith(NEW_AND_OLD, dispatcher);
  await create();
  await everyEndpointGetsIts();
  await apiWith(NEW.SECRET_SEALING_KEY, api);
  await create();
  await everyEndpointGetsIts();

  const sealedWithNew = async () => {
    const rows = await db.database.prisma.webhookEndpoint.findMany({ select: { sealedSecret: true } });
    return rows.filter(({ sealedSecret }) => secretBox(NEW.SECRET_KEYS).isSealedWithNewest(sealedSecret)).length;
  };
  await rotateKeys(db.database.queries, secretBox(NEW_AND_OLD), { pageSize: 5, dryRun: false }, () => {});
  expect(await sealedWithNew()).toBe(secrets.size);
  await everyEndpointGetsIts();

  await dispatcherWith(NEW.SECRET_KEYS, both);
  await everyEndpointGetsIts();
  await eventually(async () => {
    const endpoints = await admin.list();
    expect(endpoints.map(({ consecutiveFailures }) => consecutiveFailures).filter((count) => count > 0)).toEqual([]);
  });
}, 360_000);
