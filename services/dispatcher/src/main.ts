import { runService } from "@herald/common/runtime";
import { startDispatcher } from "./start-dispatcher.ts";

await runService("dispatcher", startDispatcher);
