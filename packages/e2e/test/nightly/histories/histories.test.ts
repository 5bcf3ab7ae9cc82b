import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Attempt, Herald } from "./herald.ts";
import { Model, TAKES } from "./model.ts";

const db = useDatabase();

const HISTORIES = 1_000;
const TIMEOUT_MS = 2 * 60 * 60_000;

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const TYPES = ["WorkItemCompleted", "ProjectCreated"] as const;

const types = fc.subarray([...TYPES], { minLength: 1 });
const endpoint = fc.nat({ max: 2 });
const two = fc.nat({ max: 1 });
const index = fc.nat({ max: 20 });

/** Steps of a kind, of which so many come among all. */
const steps = <Kind extends string, Fields extends object>(
  weight: number,
  kind: Kind,
  fields: { [Field in keyof Fields]: fc.Arbitrary<Fields[Field]> },
) => ({
  weight,
  arbitrary: fc.record({ kind: fc.constant(kind), ...fields }) as fc.Arbitrary<unknown> as fc.Arbitrary<
    { kind: Kind } & Fields
  >,
});
const oneOrTwo = fc.constantFrom(1, 2);
const times = fc.constantFrom(1_000, 61_000, 121_000, 10 * MINUTE, 25 * 60 * MINUTE, 3 * DAY);
const outcomes = fc.array(fc.record({ index, succeeded: fc.boolean() }), { minLength: 1, maxLength: 6 });
const age = fc.constantFrom(0, 0, 1_000, 2 * DAY);

/** The steps of a history. A step that can't happen (an endpoint that is gone, nothing under way) is passed over. */
const step = fc.oneof(
  steps(6, "emit", { event: fc.nat({ max: 7 }), type: fc.constantFrom(...TYPES), age, publishers: oneOrTwo }),
  steps(8, "begin", { count: fc.integer({ min: 1, max: 10 }) }),
  steps(8, "end", { dispatcher: two, outcomes }),
  steps(4, "fail all", { dispatcher: two }),
  steps(5, "wait", { ms: times }),
  steps(3, "catch up", { publishers: oneOrTwo }),
  steps(3, "take over", { dispatcher: two, crashed: fc.boolean() }),
  steps(3, "late result", { dispatcher: two, index, late: fc.boolean(), current: fc.boolean() }),
  steps(3, "edit", { endpoint, enabled: fc.boolean(), types }),
  steps(1, "delete", { endpoint }),
  steps(1, "create", { endpoint, types }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A history, played on the model and on Herald at once. */
class History {
  readonly clock = steeredClock("2026-06-01T00:00:00.000Z");
  readonly herald = new Herald(db.database, this.clock);
  readonly model = new Model((key) => this.herald.idOf(key));
  /** The owner's attempts under way. */
  underWay: Attempt[] = [];
  /** Attempts whose dispatcher was taken for dead: their results may still come, since it was only frozen. */
  readonly lost: Attempt[] = [];
  /** Each endpoint that is created is a new one: a number names the latest. */
  readonly numbers = [0, 1, 2];
  #created = 2;

  async begin(): Promise<void> {
    await this.herald.takeOver(0, { crashed: false });
    this.model.takeOver({ crashed: false, now: this.now() });
    for (const number of [0, 1]) await this.create(number, TYPES);
    this.numbers[2] = 1;
  }

  async take(step: Step): Promise<void> {
    const now = this.now();
    switch (step.kind) {
      case "emit": {
        const { occurredAt, type } = this.model.events[step.event] ?? { occurredAt: now - step.age, type: step.type };
        // The consumer drops what is older than the window.
        if (occurredAt < now - 7 * DAY) return;
        await this.herald.emit(step.event, { type, occurredAt }, step.publishers);
        return this.model.emit(step.event, { type, occurredAt }, now);
      }
      case "begin":
        return await this.beginAttempts(step.count);
      case "end":
        return await this.end(step.dispatcher, step.outcomes);
      case "fail all":
        return await this.end(
          step.dispatcher,
          this.underWay.map((_, index) => ({ index, succeeded: false })),
        );
      case "wait":
        return this.clock.advance(step.ms);
      case "catch up":
        await this.herald.catchUp(step.publishers);
        return this.model.catchUp(now);
      case "take over":
        // One that gives up its shards waits until nothing of them is in flight.
        if (step.crashed) this.lost.push(...this.underWay.splice(0));
        else if (this.underWay.length > 0) return;
        await this.herald.takeOver(step.dispatcher, step);
        return this.model.takeOver({ crashed: step.crashed, now });
      case "late result": {
        if (this.lost.length === 0) return;
        const [late] = this.lost.splice(step.index % this.lost.length, 1);
        return await this.endLate(step.dispatcher, late as Attempt, step);
      }
      case "edit": {
        const number = this.number(step.endpoint);
        if (!this.model.endpoints.has(number)) return;
        await this.herald.edit(number, step);
        return this.model.edit(number, step);
      }
      case "delete": {
        const number = this.number(step.endpoint);
        if (!this.model.endpoints.has(number)) return;
        await this.herald.delete(number);
        return this.model.delete(number);
      }
      case "create":
        this.numbers[step.endpoint] = this.#created++;
        return await this.create(this.number(step.endpoint), step.types);
    }
  }

  async create(number: number, types: readonly string[]): Promise<void> {
    await this.herald.create(number, types);
    this.model.create(number, types, this.now());
  }

  /** The owner begins what is due of every endpoint that ever was, and not under way. */
  async beginAttempts(count: number): Promise<void> {
    const all = Array.from({ length: this.#created }, (_, number) => number).filter((number) =>
      this.model.knows(number),
    );
    const expected = all.flatMap((number) => this.model.due(number, this.now()).slice(0, count)).map(({ id }) => id);
    const read = await this.herald.begin(all, count);
    expect(read.map(({ deliveryId }) => deliveryId).sort()).toEqual(expected.sort());
    const known = new Set(this.underWay.map(({ deliveryId }) => deliveryId));
    this.underWay.push(...read.filter(({ deliveryId }) => !known.has(deliveryId)));
    this.clock.advance(TAKES);
  }

  async end(dispatcher: number, outcomes: readonly { index: number; succeeded: boolean }[]): Promise<void> {
    const { underWay } = this;
    const results = outcomes.flatMap(({ index, succeeded }) => {
      const [attempt] = underWay.length > 0 ? underWay.splice(index % underWay.length, 1) : [];
      return attempt ? [{ attempt, succeeded }] : [];
    });
    if (results.length > 0) await this.settle(dispatcher, results);
  }

  /** A late result comes; if the owner has an attempt of that delivery under way, its result comes in the same batch. */
  async endLate(
    dispatcher: number,
    lost: Attempt,
    { late, current }: { late: boolean; current: boolean },
  ): Promise<void> {
    const { underWay } = this;
    const position = underWay.findIndex(({ deliveryId }) => deliveryId === lost.deliveryId);
    const own = position < 0 ? [] : underWay.splice(position, 1).map((attempt) => ({ attempt, succeeded: current }));
    await this.settle(dispatcher, [{ attempt: lost, succeeded: late }, ...own]);
  }

  async settle(dispatcher: number, results: readonly { attempt: Attempt; succeeded: boolean }[]): Promise<void> {
    await this.herald.settle(dispatcher, results);
    // If two results of one delivery come together, the success wins.
    const succeeded = new Set(results.filter((each) => each.succeeded).map(({ attempt }) => attempt.deliveryId));
    for (const result of results) {
      const { attempt } = result;
      if (!result.succeeded && succeeded.has(attempt.deliveryId)) continue;
      this.model.settle(this.herald.keyOf(attempt), {
        revision: Number(attempt.revision),
        epoch: this.herald.takenInEpoch(attempt),
        dueAt: attempt.dueAt.getTime(),
        succeeded: result.succeeded,
        startedAt: attempt.startedAt.getTime(),
        endedAt: this.now(),
      });
    }
  }

  number(endpoint: number): number {
    const number = this.numbers[endpoint];
    if (number === undefined) throw new Error(`There is no endpoint ${endpoint}.`);
    return number;
  }

  now(): number {
    return this.clock.now().getTime();
  }
}

test(
  "any history of events, failures, pauses, edits, deletions and owners that come, go, freeze and die ends as SPEC 3 and 6 say",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const history = new History();
        try {
          await history.begin();
          for (const step of steps) {
            await history.take(step);
            expect(await history.herald.state()).toEqual(history.model.state());
          }
        } finally {
          await history.herald.close();
        }
      }),
      { numRuns: HISTORIES, endOnFailure: false },
    );
  },
  TIMEOUT_MS,
);
