import type { Settings } from "@herald/common/config/settings";

/** Where the database of the cell is that gives a bucket away. */
export const givingSettings = {
  FROM_DATABASE_URL: {
    type: "string",
    required: true,
    secret: true,
    description: "PostgreSQL of the cell that gives the bucket, as DATABASE_URL is that of the cell that takes it.",
  },
  FROM_DATABASE_CA_FILE: {
    type: "string",
    description: "PEM file of the certificate authorities that its certificate may come from, as DATABASE_CA_FILE.",
  },
} as const satisfies Settings;
