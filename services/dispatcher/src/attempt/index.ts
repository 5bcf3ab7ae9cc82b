export {
  type AttemptRequest,
  type AttemptResult,
  createSender,
  type Sender,
  type SenderOptions,
} from "./sender.ts";
