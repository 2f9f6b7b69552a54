"""A client that openapi-python-client made of the description, used as its reader would: everything in the description can be called, and
answers as it says."""

import os

from generated import AuthenticatedClient
from generated.api.default import apply, describe, health, list_commands, list_entries, list_packages, plan, ready
from generated.api.default import run, show_entry, show_package, show_server, show_state, undo, verify
from generated.models import Call, CallFields, Nothing, Undo, Verify

client = AuthenticatedClient(base_url=os.environ["HUTCH_URL"], token=os.environ["HUTCH_TOKEN"])


def result(answer):
    assert answer.status_code == 200, answer
    parsed = answer.parsed
    return parsed.result.to_dict() if hasattr(parsed, "result") else parsed


with client:
    for open_one in (health, ready, describe, show_server):
        result(open_one.sync_detailed(client=client))
    assert result(list_packages.sync_detailed(client=client))["items"][0]["slug"] == "todo"
    result(show_package.sync_detailed("todo", client=client))
    assert len(result(list_commands.sync_detailed("todo", client=client))["tools"]) > 5
    fields = CallFields.from_dict({"title": "Write docs"})
    added = result(run.sync_detailed("todo", client=client, body=Call(command="add", fields=fields), idempotency_key="k1"))
    again = result(run.sync_detailed("todo", client=client, body=Call(command="add", fields=fields), idempotency_key="k1"))
    assert added["entry"] == again["entry"]
    planned = result(plan.sync_detailed("todo", client=client, body=Call(arguments=["complete", "td_0001"])))
    applied = result(apply.sync_detailed("todo", planned["plan_id"], client=client, body=Nothing()))
    assert applied["kept"]
    assert result(verify.sync_detailed("todo", client=client, body=Verify()))["equal"] == 1
    assert result(show_entry.sync_detailed("todo", "last", client=client))["record"]["kind"] == "apply"
    assert result(list_entries.sync_detailed("todo", client=client, limit=2))["limit"] == 2
    assert result(undo.sync_detailed("todo", client=client, body=Undo(count=1)))["entry"]
    state = show_state.sync_detailed("todo", client=client)
    same = show_state.sync_detailed("todo", client=client, if_none_match=state.headers["etag"])
    assert same.status_code == 304, same
    missing = run.sync_detailed("todo", client=client, body=Call(arguments=["get", "td_9999"]))
    assert missing.status_code == 422 and missing.parsed.code == "GUEST_FAILED", missing
print("HTTP: the generated client called 15 operations")
