// The official TypeScript SDK's clients, of both generations: `node sdk.mjs PACKAGES v1|v2 URL TOKEN`.
// They list the tools, read a list of mail, make a mistake, and read a resource; what they got is printed as JSON.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [packages, generation, url, token] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)));

const [{ Client }, { StreamableHTTPClientTransport }] =
  generation === "v1"
    ? [
        await load("@modelcontextprotocol/sdk/client/index.js"),
        await load("@modelcontextprotocol/sdk/client/streamableHttp.js"),
      ]
    : [await load("@modelcontextprotocol/client"), await load("@modelcontextprotocol/client")];

const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
const client = new Client({ name: "sdk", version: "1" });
await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const listed = await client.callTool({ name: "messages_list", arguments: { limit: 2 } });
const mistaken = await client.callTool({ name: "messages_get", arguments: { message: "demo.aaaaaa.1-1" } });
const templates = (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate);
const resource = await client.readResource({ uri: "mail://demo/mailboxes" });
const server = client.getServerVersion();
await client.close();
console.log(JSON.stringify({ server, tools, listed, mistaken, templates, resource }));
