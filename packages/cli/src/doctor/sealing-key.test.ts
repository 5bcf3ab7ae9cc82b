import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox, secretSealer } from "@herald/common/security/secret-box";
import { expect, test } from "@jest/globals";
import { sealingKey, sealingKeyFinding } from "./sealing-key.ts";

const [old, current, other] = [newSealingKeys("old"), newSealingKeys("new"), newSealingKeys("new")];
const ring = secretBox(`${current.SECRET_KEYS},${old.SECRET_KEYS}`);

test("a sealing key whose private key is there is right, also where that is an older one", () => {
  const newest = sealingKeyFinding(secretSealer(current.SECRET_SEALING_KEY), ring);
  expect(newest).toMatchObject({ status: "ok", what: expect.stringMatching(/^The newest key/) });
  const older = sealingKeyFinding(secretSealer(old.SECRET_SEALING_KEY), ring);
  expect(older).toMatchObject({ status: "ok", what: expect.stringMatching(/^An older key/) });
});

test.each([
  ["under an id that is not there", newSealingKeys("lost"), '"lost"'],
  ["under the same id as another one", other, '"new"'],
])("a sealing key that no private key opens is a fault: %s", (_where, { SECRET_SEALING_KEY }, id) => {
  expect(sealingKeyFinding(secretSealer(SECRET_SEALING_KEY), ring)).toMatchObject({
    status: "fault",
    what: expect.stringContaining(`(key ${id})`),
    remedy: expect.stringContaining("SECRET_KEYS of all dispatchers"),
  });
});

test("where one of the two settings is not there, the doctor says which, and that nothing was tried", async () => {
  const sealer = secretSealer(old.SECRET_SEALING_KEY);
  expect(await sealingKey.examine({ sealer: undefined, secretBox: ring })).toMatchObject({
    status: "skipped",
    what: expect.stringMatching(/^SECRET_SEALING_KEY is not set/),
  });
  expect(await sealingKey.examine({ sealer, secretBox: undefined })).toMatchObject({
    status: "skipped",
    what: expect.stringMatching(/^SECRET_KEYS is not set/),
  });
});
