export const brokerUrl = () => process.env.AMQP_URL ?? "";
