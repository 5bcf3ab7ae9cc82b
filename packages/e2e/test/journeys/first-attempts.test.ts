import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

test("§2.3/current what is emitted after the answer to an edit goes the new way, however often that changes", async () => {
  const { api, receiver, emitter } = environment;
  const paths = ["/1", "/2", "/3", "/4"];
  const { endpoint } = await api.create({ url: `${receiver.url}${paths[0]}` });
  for (const [index, path] of paths.entries()) {
    if (index > 0) await api.edit(endpoint.id, { url: `${receiver.url}${path}` });
    // The second one finds the configuration that the first one has left.
    for (const received of [2 * index + 1, 2 * index + 2]) {
      await emitter.emit(environment.event());
      await receiver.received(received);
    }
  }
  expect(receiver.requests.map(({ path }) => path)).toEqual(paths.flatMap((path) => [path, path]));
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 8 }));
});
