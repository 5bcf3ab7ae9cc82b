import { randomUUID } from "node:crypto";
import { secretSettings } from "@herald/common/config/common-settings";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { headerContext, secretBox } from "@herald/common/security/secret-box";
import { factsOf } from "@herald/common/service/processes";
import { insertEndpoint } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { rotateKeys } from "../src/keys-command.ts";
import { runHerald } from "./run-herald.ts";

const db = useDatabase();
const key = (id: string) => newSealingKeys(id).SECRET_KEYS;
const [OLD, NEW, OTHER] = [key("old"), key("new"), key("other")];
const oldBox = secretBox(OLD);
const ringBox = secretBox(`${NEW},${OLD}`);
const ring = { SECRET_KEYS: `${NEW},${OLD}` };

beforeEach(() => db.database.prisma.webhookEndpoint.deleteMany());

async function endpointWithSecret(secret: string, box = oldBox) {
  const { id } = await insertEndpoint(db.database.prisma);
  return await db.database.prisma.webhookEndpoint.update({
    where: { id },
    data: { sealedSecret: box.seal(secret, id) },
  });
}

const sealedOf = async (id: string) =>
  (await db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } })).sealedSecret;

const run = (args: string[], settings: Record<string, string> = ring) =>
  runHerald(["keys", "rotate", ...args], { DATABASE_URL: db.url, ...settings });

test("herald keys rotate seals every secret to the newest key, and changes neither secret nor version", async () => {
  const endpoints = [];
  for (let index = 0; index < 7; index++) endpoints.push(await endpointWithSecret(`secret ${index}`));
  expect(await run(["--page-size", "3"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("7 of 7 secrets were sealed again."),
  });
  const newest = secretBox(NEW);
  for (const [index, { id, ...before }] of endpoints.entries()) {
    expect(newest.open(await sealedOf(id), id)).toBe(`secret ${index}`);
    const after = await db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    expect({ ...after, sealedSecret: "" }).toEqual({ ...before, id, sealedSecret: "" });
  }
  expect((await run([])).stdout).toContain("0 of 7 secrets were sealed again.");
});

test("a dry run of a key rotation changes nothing", async () => {
  const { id, sealedSecret } = await endpointWithSecret("s");
  expect(await run(["--dry-run"])).toMatchObject({ code: 0, stdout: "1 of 1 secrets would be sealed again.\n" });
  expect(await sealedOf(id)).toBe(sealedSecret);
});

test("a key rotation names a secret that it can't open, seals the others, and fails", async () => {
  const lost = await endpointWithSecret("lost", secretBox(OTHER));
  const fine = await endpointWithSecret("fine");
  const { code, stdout, stderr } = await run([]);
  expect(code).toBe(1);
  expect(stdout).toContain("1 of 2");
  expect(stderr).toContain(lost.id);
  expect(stderr).toContain('key "other"');
  expect(secretBox(NEW).open(await sealedOf(fine.id), fine.id)).toBe("fine");
  expect(await sealedOf(lost.id)).toBe(lost.sealedSecret);
});

test("a key rotation seals own headers too, keeps one that it can't open, and names it", async () => {
  const { id } = await endpointWithSecret("s");
  const seal = (name: string, value: string, box = oldBox) => box.seal(value, headerContext(id, name));
  const headers = { Authorization: seal("Authorization", "Bearer 1"), "X-Lost": seal("X-Lost", "2", secretBox(OTHER)) };
  await db.database.prisma.webhookEndpoint.update({ where: { id }, data: { headers } });
  const { code, stdout, stderr } = await run([]);
  expect([code, stdout]).toEqual([1, expect.stringContaining("2 of 3 secrets were sealed again.")]);
  expect(stderr).toContain(`${id}: its header X-Lost: Sealed to key "other"`);
  const after = (await db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } }))
    .headers as typeof headers;
  expect(secretBox(NEW).open(after.Authorization, headerContext(id, "Authorization"))).toBe("Bearer 1");
  expect(after["X-Lost"]).toBe(headers["X-Lost"]);
  expect((await run([])).stdout).toContain("0 of 3 secrets");
});

test("a secret that is replaced during a key rotation stays replaced", async () => {
  const { prisma } = db.database;
  const endpoint = await endpointWithSecret("before");
  const other = await endpointWithSecret("other");
  const replaced = ringBox.seal("replaced", endpoint.id);
  // The edit comes with the first write, which follows the first reading.
  let statements = 0;
  const editing = new Proxy(prisma, {
    get(target, property, receiver) {
      if (property !== "$queryRaw" || ++statements < 2) return Reflect.get(target, property, receiver);
      return async (...parameters: Parameters<typeof prisma.$queryRaw>) => {
        await prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data: { sealedSecret: replaced } });
        return await target.$queryRaw(...parameters);
      };
    },
  });
  const result = await rotateKeys(editing, ringBox, { pageSize: 10, dryRun: false }, () => {});
  expect(result).toMatchObject({ secrets: 2, resealed: 1, overtaken: 1 });
  expect(await sealedOf(endpoint.id)).toBe(replaced);
  expect(ringBox.isSealedWithNewest(await sealedOf(other.id))).toBe(true);
});

test("a key rotation refuses while a dispatcher at work lacks the newest key, and names it", async () => {
  const { id, sealedSecret } = await endpointWithSecret("s");
  const dispatcher = { service: "dispatcher", name: "vm:1", facts: factsOf(secretSettings, { SECRET_KEYS: OLD }) };
  const { prisma } = db.database;
  await prisma.process.create({ data: { id: randomUUID(), ...dispatcher, saidAt: new Date() } });
  for (const args of [[], ["--dry-run"]]) {
    const { code, stderr } = await run(args);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/SECRET_KEYS of dispatcher vm:1 lacks the key new \(/)]);
  }
  expect(await sealedOf(id)).toBe(sealedSecret);
  // It has ended, or has the keys of the rotation.
  await prisma.process.updateMany({ data: { saidAt: new Date(Date.now() - 60_000) } });
  const facts = factsOf(secretSettings, ring);
  await prisma.process.create({ data: { id: randomUUID(), ...dispatcher, facts, saidAt: new Date() } });
  expect((await run([])).code).toBe(0);
  await prisma.process.deleteMany();
});

test("an interrupted key rotation is finished by the next one", async () => {
  for (let index = 0; index < 6; index++) await endpointWithSecret(`${index}`);
  const cutOff = rotateKeys(db.database.queries, ringBox, { pageSize: 2, dryRun: false }, ({ secrets }) => {
    if (secrets === 4) throw new Error("cut off");
  });
  await expect(cutOff).rejects.toThrow("cut off");
  const rest = await rotateKeys(db.database.queries, ringBox, { pageSize: 2, dryRun: false }, () => {});
  expect(rest).toMatchObject({ secrets: 6, resealed: 2, overtaken: 0 });
});

test("two key rotations at once seal each secret once", async () => {
  const endpoints = [];
  for (let index = 0; index < 20; index++) endpoints.push(await endpointWithSecret(`secret ${index}`));
  const rotate = () => rotateKeys(db.database.queries, ringBox, { pageSize: 4, dryRun: false }, () => {});
  const results = await Promise.all([rotate(), rotate()]);
  expect(results.reduce((sum, { resealed }) => sum + resealed, 0)).toBe(20);
  for (const [index, { id }] of endpoints.entries()) {
    expect(secretBox(NEW).open(await sealedOf(id), id)).toBe(`secret ${index}`);
  }
});
