// A to-do server as one would write it with the protocol's own library: one JSON file, written as a whole and renamed. No sandbox, no history, nothing synced.

const { createServer } = require("node:http");
const { readFileSync, renameSync, writeFileSync } = require("node:fs");
const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js");
const { StreamableHTTPServerTransport } = require("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { z } = require("zod");

const file = process.argv[2];
const read = () => {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return [];
  }
};
const write = (items) => {
  writeFileSync(`${file}.new`, JSON.stringify(items));
  renameSync(`${file}.new`, file);
};
const answer = (items) => ({ content: [{ type: "text", text: JSON.stringify({ items }) }], structuredContent: { items } });

function serve() {
  const server = new McpServer({ name: "todo", version: "1" });
  server.registerTool("todo_add", { inputSchema: { title: z.string() } }, ({ title }) => {
    const items = read();
    const item = { id: `td_${items.length + 1}`, title, status: "open", createdAt: new Date().toISOString() };
    write([...items, item]);
    return answer([item]);
  });
  server.registerTool("todo_list", { inputSchema: {} }, () => answer(read()));
  return server;
}

const http = createServer(async (request, response) => {
  if (request.url.startsWith("/reset")) {
    write([1, 2, 3].map((at) => ({ id: `td_${at}`, title: `item ${at}`, status: "open", createdAt: new Date().toISOString() })));
    response.end();
    return;
  }
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  const server = serve();
  response.on("close", () => server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
});
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}`));
