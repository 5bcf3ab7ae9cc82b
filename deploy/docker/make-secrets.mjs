// Writes the passwords and keys that docker-compose.yml mounts as files, once: node deploy/docker/make-secrets.mjs [folder]
// What is there already stays, so that it can be run again.
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2] ?? "deploy/secrets";
if (existsSync(join(folder, "rabbitmq-definitions.json"))) {
  process.stdout.write(`${folder} has its secrets already; remove it to make new ones.\n`);
  process.exit(0);
}
mkdirSync(folder, { recursive: true, mode: 0o700 });

const { vhosts, permissions } = JSON.parse(
  readFileSync(new URL("../rabbitmq/definitions.json", import.meta.url), "utf8"),
);
const password = () => randomBytes(24).toString("hex");
/** The user of each service; `app` and `herald` are those of the command. */
const SERVICES = ["api", "publisher", "dispatcher"];
const users = Object.fromEntries(
  [...permissions.map(({ user }) => user), "operator"].map((user) => [user, password()]),
);
const amqpUrl = (user) => `amqp://${user}:${users[user]}@rabbitmq:5672/herald`;

write("postgres-admin-password", password());
for (const role of ["owner", "app", ...SERVICES]) {
  const own = password();
  write(`postgres-${role}-password`, own);
  write(`${role}-database-url`, `postgres://herald_${role}:${own}@postgres:5432/herald`);
}
for (const user of [...SERVICES, "herald", "emitter", "product"]) write(`${user}-amqp-url`, amqpUrl(user));
write("rabbitmq-operator-password", users.operator);
write("grafana-admin-password", password());
// As herald keys make makes them, which is not built here.
const { privateKey, publicKey } = generateKeyPairSync("x25519");
write("secret-keys", `k1:${privateKey.export({ format: "der", type: "pkcs8" }).toString("base64")}`);
write("sealing-key", `k1:${publicKey.export({ format: "der", type: "spki" }).toString("base64")}`);
write("auth-jwt-secret", randomBytes(32).toString("base64"));
write("rabbitmq-definitions.json", JSON.stringify(definitions(), null, 2));
process.stdout.write(`Secrets are in ${folder}. Keep them out of version control.\n`);

/** Who may do what on the broker: no more than their work takes, as deploy/rabbitmq/definitions.json has it. */
function definitions() {
  return {
    vhosts,
    users: Object.entries(users).map(([name, secret]) => ({
      name,
      password_hash: hash(secret),
      hashing_algorithm: "rabbit_password_hashing_sha256",
      tags: name === "operator" ? ["administrator"] : [],
    })),
    permissions: [...permissions, { user: "operator", vhost: "herald", configure: ".*", write: ".*", read: ".*" }],
  };
}

/** RabbitMQ's: salt, then the SHA-256 of salt and password, as Base64. */
function hash(secret) {
  const salt = randomBytes(4);
  const digest = createHash("sha256")
    .update(Buffer.concat([salt, Buffer.from(secret)]))
    .digest();
  return Buffer.concat([salt, digest]).toString("base64");
}

function write(name, text) {
  // Containers read them as other users than the one who made them; the folder keeps others on this machine out.
  writeFileSync(join(folder, name), text, { mode: 0o644 });
}
