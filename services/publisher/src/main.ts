import { runService } from "@herald/common/service/run-service";
import { startPublisher } from "./start-publisher.ts";

await runService("publisher", startPublisher);
