"""A server, by the protocol's own Python library, in both lifecycles, over pipes and over HTTP; and the configurations that host/docs/servers.md shows.

Called by tests/serve/run: client.py PAGE PACKAGE PROBE, with `hutch` on PATH.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from contextlib import contextmanager
from urllib.parse import urlsplit

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import ElicitResult

PAGE, TODO, PROBE = sys.argv[1:4]


def server(*words):
    return StdioServerParameters(command="hutch", args=["mcp", *words], env=dict(os.environ))


def error(result):
    assert result.is_error and result.structured_content is None, result
    return json.loads(result.content[0].text)


@contextmanager
def over_http():
    """A server over HTTP, and what makes a connection to it with the operator's token."""
    with tempfile.TemporaryDirectory() as home:
        words = ["hutch", "serve", "--home", home, "--listen", "127.0.0.1:0", "--tools-max", "40", TODO]
        running = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            told = json.loads(running.stdout.readline())["result"]
            with open(told["token_file"], encoding="utf-8") as file:
                token = next(line.split()[2] for line in file if line.startswith("operator "))
            headers = {"Authorization": f"Bearer {token}"}
            url = f"{told['url']}/mcp"
            yield url, lambda: streamable_http_client(url, http_client=create_mcp_http_client(headers=headers))
        finally:
            running.terminate()
            assert running.wait() == 0


async def conversation(mode, connect, way_out):
    asked = []

    async def person(_context, params):
        asked.append(params.message)
        return ElicitResult(action="accept" if len(asked) > 1 else "decline", content={})

    told = []

    async def progress(done, total, message):
        told.append(done)

    async with Client(connect(), mode=mode, elicitation_callback=person) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28"), client.protocol_version
        assert client.server_info.name == "hutch"
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert len(tools) == 16 and all(not tool.annotations.open_world_hint for tool in tools.values())
        assert tools["todo_list"].annotations.read_only_hint and tools["todo_remove"].annotations.destructive_hint
        # The library holds what is structured to the tool's output schema.
        added = await client.call_tool("todo_add", {"title": "Write docs"}, progress_callback=progress)
        assert added.structured_content["items"][0]["title"] == "Write docs" and told, (added, told)
        assert added.meta["hutch/entry"]["sequence"] == 2 and added.meta["hutch/fuel"] > 0, added.meta
        assert error(await client.call_tool("todo_get", {"id": "td_9999"}))["code"] == "GUEST_FAILED"
        remove = {"id": "td_0001", "confirm": True}
        assert error(await client.call_tool("todo_remove", remove))["code"] == "CONFIRMATION_REQUIRED"
        assert "Write docs" in asked[0], asked
        removed = await client.call_tool("todo_remove", remove)
        assert not removed.is_error and len(asked) == 2, removed
        assert (await client.call_tool("todo_list", {})).structured_content["count"] == 0
        await client.call_tool("hutch_undo", {})
        assert (await client.call_tool("todo_list", {})).structured_content["count"] == 1
        assert (await client.call_tool("hutch_verify", {})).structured_content["equal"] is True
        history = (await client.call_tool("hutch_history", {})).structured_content
        assert all(entry["caller"] for entry in history["items"]), history
        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
        skill = await client.read_resource(next(uri for uri in uris if uri.startswith("skill://")))
        assert skill.contents[0].text.startswith("---"), skill
    # Who can't ask is refused.
    async with Client(connect(), mode=mode) as client:
        refused = error(await client.call_tool("todo_remove", {"id": "td_0001", "confirm": True}))
        assert refused["code"] == "CONFIRMATION_REQUIRED" and way_out(refused), refused


async def many_at_once():
    async with Client(server("--tools-max", "100", PROBE)) as client:
        results = await asyncio.gather(*(client.call_tool("probe_return_ok", {}) for _ in range(50)))
        assert not any(result.is_error for result in results)


async def cancelled(mode):
    limits = ["--limit", "wall_time_ms=600000", "--limit", "fuel=1000000000000000", "--tools-max", "100"]
    begun = asyncio.Event()

    async def progress(*_):
        begun.set()

    async with Client(server(*limits, PROBE), mode=mode) as client:
        call = asyncio.create_task(client.call_tool("probe_spin", {}, progress_callback=progress))
        await begun.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        # Its worker and its guest are gone when the entry is there.
        entry = {"error": None}
        while entry["error"] != "CANCELLED":
            history = (await client.call_tool("hutch_history", {})).structured_content
            entry = next((one for one in history["items"] if one["argv"] == ["probe", "spin"]), entry)
        assert entry["kept"] is False, entry


async def configurations():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    found = []
    for language, block in re.findall(r"^```(json|toml)\n(.*?)^```$", text, re.M | re.S):
        data = json.loads(block) if language == "json" else tomllib.loads(block)
        servers = data.get("mcpServers") or data.get("servers") or data.get("mcp_servers") or {}
        found += [servers["hutch"]] if "hutch" in servers else []
    assert len(found) == 3, found
    for one in found:
        parameters = StdioServerParameters(command=one["command"], args=one["args"], env=dict(os.environ))
        async with Client(parameters) as client:
            assert {"hutch_find", "hutch_describe", "hutch_call"} <= {tool.name for tool in (await client.list_tools()).tools}


async def main():
    for mode in ["legacy", "auto"]:
        line = lambda refused: "apply --yes" in refused["fixes"][0]["cmd"]
        await conversation(mode, lambda: server("--instance", mode, "--tools-max", "40", "--output-schemas", TODO), line)
        with over_http() as (url, connect):
            page = f"http://{urlsplit(url).netloc}/approvals"
            await conversation(mode, connect, lambda refused: refused["details"]["approve_at"] == page)
    await many_at_once()
    for mode in ["legacy", "auto"]:
        await cancelled(mode)
    await configurations()
    print("Python library: two lifecycles over pipes and over HTTP, fifty calls at once, cancellation, three configurations")


asyncio.run(asyncio.wait_for(main(), 100))
