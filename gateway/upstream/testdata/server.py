"""An MCP server on standard input and output, without a library, whose tools do what a test needs."""
import json, os, sys, time

def tool(name, description="", properties=None, **more):
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties or {}}, **more}

count = 0
TOOLS = [
    tool("echo", "Says what it is told.", {"text": {"type": "string"}}),
    tool("count", "Counts the calls of this process."),
    tool("read", "Reads a file.", {"path": {"type": "string"}}),
    tool("env", "Lists the environment."),
    tool("fail", "Fails."),
    tool("die", "Ends the process."),
    tool("sleep", "Takes its time.", {"seconds": {"type": "number"}}),
    tool("progress", "Says how it goes."),
    tool("structured", "Answers an object.", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    tool("lies", "Answers what its schema forbids.", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    tool("flood", "Answers without end."),
    tool("dots.in/name", "Has \x1b[31mcolours\x1b[0m, <|im_start|> and s3cr3t-value.", {"a": {"type": "string", "description": "\x1b]0;title\x07text"}}),
    {"name": "broken", "inputSchema": {"type": "object", "properties": {"a": {"type": "no such type"}}}},
]

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}

def call(name, a, meta):
    global count
    count += 1
    if name == "echo":
        return text(a.get("text", ""))
    if name == "count":
        return text("%d in %d" % (count, os.getpid()))
    if name == "read":
        try:
            return text(open(a["path"]).read())
        except OSError as e:
            return text(str(e), isError=True)
    if name == "env":
        return text("\n".join(sorted(os.environ)))
    if name == "fail":
        return text("it failed", isError=True)
    if name == "die":
        print("last words", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "sleep":
        time.sleep(a.get("seconds", 600))
        return text("awake")
    if name == "progress":
        for i in range(1, 4):
            send({"method": "notifications/progress", "params": {"progressToken": meta.get("progressToken"), "progress": i, "total": 4, "message": "step %d" % i}})
        return text("done")
    if name == "structured":
        return text('{"n": 1}', structuredContent={"n": 1})
    if name == "lies":
        return text('{"n": "one"}', structuredContent={"n": "one"})
    if name == "flood":
        sys.stdout.write("x" * (17 << 20))
        sys.stdout.flush()
    return text("called " + name)

if "--no-start" in sys.argv:
    sys.exit("it cannot start")
if "--needs" in sys.argv:
    open(sys.argv[sys.argv.index("--needs") + 1]).read()
for line in sys.stdin:
    q = json.loads(line)
    method, params = q.get("method"), q.get("params") or {}
    if "id" not in q:
        continue
    if method == "initialize":
        send({"id": q["id"], "result": {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "test", "version": "1"}}})
    elif method == "tools/list":
        # Two pages, so that a client that stops after the first is found out.
        first = "cursor" not in params
        page = {"tools": TOOLS[:5], "nextCursor": "more"} if first else {"tools": TOOLS[5:]}
        send({"id": q["id"], "result": page})
    elif method == "tools/call":
        send({"id": q["id"], "result": call(params["name"], params.get("arguments") or {}, params.get("_meta") or {})})
    else:
        send({"id": q["id"], "error": {"code": -32601, "message": "no such method"}})
