export {
  type AddressGuard,
  BlockedAddressError,
  createAddressGuard,
  isAllowedAddress,
  isLocalhostName,
  type Resolve,
} from "./address-guard.ts";
export { createNameResolver, type NameResolverOptions } from "./name-resolver.ts";
export { NO_PRIVATE_NETWORKS, type PrivateNetworks, parsePrivateNetworks } from "./private-networks.ts";
export { type SecretBox, SecretBoxError, secretBox } from "./secret-box.ts";
export {
  newSigningSecret,
  type RandomBytes,
  type SignedBody,
  serviceSignature,
  standardWebhooksSignature,
} from "./signature.ts";
export { checkEndpointUrl, type UrlCheck, type UrlPolicy, type UrlProblem } from "./url-policy.ts";
