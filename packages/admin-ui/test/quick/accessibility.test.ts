import { expect, test } from "@jest/globals";
import { useScenes, violationsInBothThemes } from "../support/scenes.ts";
import { useTestEnvironment } from "../support/test-environment.ts";

const scenes = useScenes(useTestEnvironment({ sharedOrganization: true }));

test("axe finds nothing on the main screens, in either theme", async () => {
  expect(await scenes.onEach("main", violationsInBothThemes)).toEqual([]);
}, 600_000);
