import { parseArgs } from "node:util";
import { openBenchEnvironment } from "../bench/environment.ts";
import { machine } from "../bench/machine.ts";
import { runSoak } from "../soak/run-soak.ts";

const USAGE = `pnpm soak [options]: an even load for a while, with a PostgreSQL, a RabbitMQ and a receiver of its own. Nothing may grow.

  --minutes N   how long (20)
  --rate N      events a second, each one delivery (1000)
  --json        prints everything as JSON`;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "20" },
    rate: { type: "string", default: "1000" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const [minutes, rate] = [Number(values.minutes), Number(values.rate)];
if (values.help) {
  console.log(USAGE);
  process.exit();
}
if (!(minutes > 0) || !(rate > 0)) {
  console.error(USAGE);
  process.exit(2);
}

const progress = (text: string) => console.error(`${text} ...`);
const measuredOn = machine();
const environment = await openBenchEnvironment({ progress });
const { figures, ...counts } = await runSoak(environment, { minutes, rate, progress }).finally(environment.close);
const passed = counts.lost === 0 && counts.repeated === 0 && figures.every(({ flat }) => flat);

if (values.json) {
  console.log(JSON.stringify({ machine: measuredOn, minutes, rate, passed, ...counts, figures }, null, 2));
} else {
  const { cores, processor, memoryGibibytes, node, loadBefore } = measuredOn;
  const number = (value: number) => value.toFixed(value < 100 && !Number.isInteger(value) ? 1 : 0).padStart(8);
  console.log(`\n${cores} x ${processor}, ${memoryGibibytes} GiB, node ${node}, load before: ${loadBefore}`);
  console.log(
    `${rate} events/s for ${minutes} min: ${counts.emitted} events, ${counts.lost} lost, ${counts.repeated} repeated.`,
  );
  console.log(`Medians of the four quarters, and the highest:\n`);
  for (const { label, unit, quarters, highest, flat } of figures) {
    console.log(
      `  ${label.padEnd(56)}${quarters.map(number).join("")}${number(highest)}  ${unit.padEnd(4)}${flat ? "flat" : "GREW"}`,
    );
  }
}
process.exitCode = passed ? 0 : 1;
