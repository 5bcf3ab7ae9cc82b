import { runService } from "@herald/common/runtime";
import { startPublisher } from "./start-publisher.ts";

await runService("publisher", startPublisher);
