import { runService } from "@herald/common/service";
import { startPublisher } from "./start-publisher.ts";

await runService("publisher", startPublisher);
