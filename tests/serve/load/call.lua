-- One call of a tool, in the lifecycle that has no session.
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json, text/event-stream"
wrk.body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"' .. os.getenv("TOOL") ..
    '","arguments":' .. os.getenv("ARGUMENTS") .. '}}'
