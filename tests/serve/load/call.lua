-- One call of a tool without a session: as the protocol has it since 2026-07-28 where VERSION says so, else as servers of the older one take it.
local version, tool = os.getenv("VERSION"), os.getenv("TOOL")
local meta = ""
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json, text/event-stream"
if version then
    wrk.headers["MCP-Protocol-Version"] = version
    wrk.headers["Mcp-Method"] = "tools/call"
    wrk.headers["Mcp-Name"] = tool
    local name = '"io.modelcontextprotocol/'
    meta = ',"_meta":{' .. name .. 'protocolVersion":"' .. version .. '",' .. name .. 'clientCapabilities":{},' ..
        name .. 'clientInfo":{"name":"wrk","version":"4"}}'
end
wrk.body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"' .. tool ..
    '","arguments":' .. os.getenv("ARGUMENTS") .. meta .. '}}'
