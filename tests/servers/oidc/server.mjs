// An OpenID provider on any free port of loopback, for the tests: registration, PKCE, resource indicators (RFC 8707), JWT and
// opaque access tokens, introspection, revocation. Anybody can log in. Prints its issuer when it is ready; ends with its stdin.
import { createServer } from "node:http";

import Provider from "oidc-provider";

const SCOPES = "mail.read mail.write mail.send";
const native = { application_type: "native", token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"] };

const configuration = {
  clients: [
    { ...native, client_id: "mcp-proton", redirect_uris: ["http://localhost/oauth/callback"] },
    { ...native, client_id: "brief", redirect_uris: ["http://127.0.0.1/callback"] },
    { ...native, client_id: "opaque", redirect_uris: ["http://127.0.0.1/callback"] },
    {
      ...native,
      client_id: "confidential",
      client_secret: "the-service-s-own",
      token_endpoint_auth_method: "client_secret_basic",
      redirect_uris: ["http://localhost/oauth/callback"],
    },
    { client_id: "introspector", client_secret: "introspection-secret", redirect_uris: [], response_types: [], grant_types: [] },
  ],
  scopes: ["openid", "offline_access", ...SCOPES.split(" ")],
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  issueRefreshToken: async () => true,
  pkce: { required: () => true },
  cookies: { keys: ["of no value"] },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    introspection: { enabled: true, allowedPolicy: async () => true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource, client) => ({
        scope: SCOPES,
        audience: resource,
        accessTokenTTL: client.clientId === "brief" ? 3 : 600,
        accessTokenFormat: client.clientId === "opaque" ? "opaque" : "jwt",
        jwt: { sign: { alg: "RS256" } },
      }),
      useGrantedResource: () => true,
    },
  },
};

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.on("request", new Provider(issuer, configuration).callback());
  console.log(`ready ${issuer}`);
});
process.stdin.on("end", () => process.exit(0)).resume();
