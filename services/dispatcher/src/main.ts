import { runService } from "@herald/common/service/run-service";
import { startDispatcher } from "./start-dispatcher.ts";

await runService("dispatcher", startDispatcher);
