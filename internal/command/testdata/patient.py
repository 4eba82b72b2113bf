"""An MCP server whose tool wait never answers; its tool seen does once n of these calls were given up."""
import json, sys

def tool(name, properties):
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}

TOOLS = [tool("echo", {"text": {"type": "string"}}), tool("steps", {}), tool("wait", {}), tool("seen", {"n": {"type": "integer"}})]
waiting, seen, asked = set(), 0, []

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

def answer(id, result):
    send({"id": id, "result": result})

def step(params, n):
    token = params.get("_meta", {}).get("progressToken")
    send({"method": "notifications/progress", "params": {"progressToken": token, "progress": n, "total": 3, "message": "step %d" % n}})

def call(id, params):
    name = params["name"]
    if name == "wait":
        waiting.add(id)
        step(params, 1)
        return
    if name == "seen":
        asked.append((id, params["arguments"]["n"]))
        return
    if name == "steps":
        for n in (1, 2, 3):
            step(params, n)
    text = {"echo": params["arguments"].get("text", ""), "steps": "done"}[name]
    answer(id, {"content": [{"type": "text", "text": text}]})

for line in sys.stdin:
    m = json.loads(line)
    method, params = m.get("method"), m.get("params", {})
    if method == "notifications/cancelled" and params.get("requestId") in waiting:
        waiting.remove(params["requestId"])
        seen += 1
    elif method == "initialize":
        answer(m["id"], {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "patient", "version": "1"}})
    elif method == "tools/list":
        answer(m["id"], {"tools": TOOLS})
    elif method == "tools/call":
        call(m["id"], params)
    elif "id" in m:
        send({"id": m["id"], "error": {"code": -32601, "message": "unknown method"}})
    for id, n in [a for a in asked if a[1] <= seen]:
        asked.remove((id, n))
        answer(id, {"content": [{"type": "text", "text": "%d given up" % seen}]})
