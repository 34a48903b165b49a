#!/usr/bin/env python3
# check.py LOOPBACK [GROUP...]: drives the loopback provider as clients do, and reads its streams strictly.
"""What is read here shares no code with what wrote it. A group is a function below; no group: all."""
import email.utils
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from client import (FAMILIES, LOOPBACK, PATHS, TIMEOUT_S, Loopback, Reader, ask, body_of, connect,
                    holds, same, send)
from streams import READ, read_chat, read_responses

STOPS = {"responses": ("completed", "completed"), "chat": ("stop", "tool_calls"),
         "messages": ("end_turn", "tool_use")}

LENGTH = {"responses": "incomplete", "chat": "length", "messages": "max_tokens"}
REFUSED = {"responses": "completed", "chat": "content_filter", "messages": "refusal"}

WORDS = "Grüße: 日本語 👩‍👩‍👧 \"quoted\" \\ \n\ttabbed \x01"
ARGS = {"path": "a/ü.txt", "lines": [1, 2.50, None, True], "text": "x" * 100}
SCRIPT = {
    "default": [
        {"think": "let me see", "say": WORDS,
         "calls": [{"tool": "read", "arguments": ARGS}, {"tool": "list"}],
         "usage": {"input": 100, "output": 20, "cached": 64}},
        {"say": ["It says: ", {"from": "result"}]},
    ],
    "echo": [{"say": [{"from": "user"}, "!", {"repeat": ["ab", 3]}]}],
    "split": [{"say": WORDS, "chunk_bytes": 1}],
    "paced": [{"say": WORDS, "chunk_delay_ms": 1}],
    "no": [{"refuse": "I will not."}],
    "short": [{"say": "cut", "stop": "length"}],
    "long": [{"say": {"repeat": ["0123456789abcdef", 65536]}}],
}


def go_on(family, reply, results):
    """The conversation after a reply and its results, as each family has it."""
    user = {"role": "user", "content": "do it"}
    if family == "responses":
        outs = [{"type": "function_call_output", "call_id": c[0], "output": t}
                for c, t in zip(reply.calls, results)]
        return [user, *reply.items, *outs]
    if family == "chat":
        calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}}
                 for i, n, a in reply.calls]
        return [user, {"role": "assistant", "content": reply.say, "tool_calls": calls},
                *({"role": "tool", "tool_call_id": c[0], "content": t}
                  for c, t in zip(reply.calls, results))]
    blocks = [{"type": "text", "text": reply.say}]
    blocks += [{"type": "tool_use", "id": i, "name": n, "input": json.loads(a)}
               for i, n, a in reply.calls]
    outs = [{"type": "tool_result", "tool_use_id": c[0], "content": t}
            for c, t in zip(reply.calls, results)]
    return [user, {"role": "assistant", "content": blocks}, {"role": "user", "content": outs}]


def check_family(lo, family):
    a = ask(lo, family, "do it")
    same((a.status, a.end), (200, "whole"), "the answer")
    same(a.headers["content-type"].split(";")[0], "text/event-stream", "its type")
    r = READ[family](a.body)
    same((r.think, r.say), ("let me see", WORDS), "what it says")
    same([(n, json.loads(t)) for _, n, t in r.calls], [("read", ARGS), ("list", {})], "its calls")
    same(len({i for i, _, _ in r.calls}), 2, "how many ids")
    same(r.usage, (100, 20, 64), "usage")
    same(r.stop, STOPS[family][1], "why it stops")
    same(READ[family](ask(lo, family, "do it").body).calls, r.calls, "the same question again")
    a = ask(lo, family, go_on(family, r, ["first", "second"]))
    second = READ[family](a.body)
    same((second.say, second.calls), ("It says: second", []), "the second round")
    same(second.stop, STOPS[family][0], "why it stops")
    for text in ("#echo me", "[message from bot 7]\n#echo me"):
        same(READ[family](ask(lo, family, text).body).say, "me!ababab", "a named conversation")
    for name in ("split", "paced"):
        same(READ[family](ask(lo, family, f"#{name} x").body).say, WORDS, name)
    same(len(READ[family](ask(lo, family, "#long x").body).say), 1 << 20, "a long text")
    short = READ[family](ask(lo, family, "#short x").body)
    same((short.say, short.stop), ("cut", LENGTH[family]), "the output limit")
    no = READ[family](ask(lo, family, "#no x").body)
    same(no.say if family == "messages" else no.refuse, "I will not.", "a refusal")
    same(no.stop, REFUSED[family], "why it stops")


def check_whole(lo, family):
    m = ask(lo, family, "do it", stream=False)
    same(m.headers["content-type"], "application/json", "the type of a document")
    m = m.json()
    if family == "responses":
        same([i["type"] for i in m["output"]],
             ["reasoning", "message", "function_call", "function_call"], "the output")
        same(m["output"][1]["content"][0]["text"], WORDS, "the text")
        same(json.loads(m["output"][2]["arguments"]), ARGS, "the arguments")
        same(m["usage"]["total_tokens"], 120, "usage")
    elif family == "chat":
        (choice,) = m["choices"]
        same(choice["message"]["content"], WORDS, "the text")
        same(choice["finish_reason"], "tool_calls", "why it stops")
        same(m["usage"]["prompt_tokens"], 100, "usage")
    else:
        same([b["type"] for b in m["content"]], ["thinking", "text", "tool_use", "tool_use"],
             "the blocks")
        same(m["content"][2]["input"], ARGS, "the input")
        same(m["usage"]["cache_read_input_tokens"], 64, "usage")


# Groups


def plain():
    with Loopback(SCRIPT) as lo:
        for family in FAMILIES:
            check_family(lo, family)
            check_whole(lo, family)


def tls():
    with Loopback(SCRIPT, tls=True) as lo:
        for family in FAMILIES:
            check_family(lo, family)
        same({r["tls"] for r in lo.rows()}, {True}, "tls in the record")
        with socket.create_connection(("127.0.0.1", lo.port), TIMEOUT_S) as s:
            send(s, "/v1/models", b"", method="GET")
            while s.recv(4096):
                pass # no TLS: an alert, then the end


def curl():
    """The curl program, plain and TLS: bodies large enough for Expect: 100-continue too."""
    for secure in (False, True):
        with Loopback(SCRIPT, tls=secure) as lo:
            def run(path, *args, body=None):
                more = ["--cacert", lo.authority] if secure else []
                done = subprocess.run(
                    ["curl", "-sSN", "--max-time", str(TIMEOUT_S), *more, *args, lo.url(path)],
                    input=body, capture_output=True, check=False)
                same((done.returncode, done.stderr), (0, b""), "what curl says")
                return done.stdout
            for family in FAMILIES:
                body = json.dumps(body_of(family, "#echo " + "x" * (2 << 20))).encode()
                out = run("/deep/prefix" + PATHS[family], "--data-binary", "@-", body=body)
                holds(READ[family](out).say.endswith("x!ababab"), "a large request")
            ids = [m["id"] for m in json.loads(run("/v1/models"))["data"]]
            same(ids, ["loopback"], "models")
            got = json.loads(run("/v1/models", "-H", "anthropic-version: 2023-06-01"))
            same((got["data"][0]["type"], got["has_more"]), ("model", False), "models")
            same(json.loads(run("/api/tags"))["models"][0]["name"], "loopback", "tags")
            holds("version" in json.loads(run("/api/version")), "version")
            count = json.loads(run("/v1/messages/count_tokens", "-d", '{"a":"12345678"}'))
            same(count, {"input_tokens": 4}, "count_tokens")
            same(run("/nowhere", "-o", "/dev/null", "-w", "%{http_code}"), b"404", "no route")
            same(run("/v1/messages", "-o", "/dev/null", "-w", "%{http_code}"), b"405", "GET")


def connection():
    """Many requests on one connection, one after another and sent ahead; HTTP/1.0."""
    with Loopback(SCRIPT) as lo:
        conn = http.client.HTTPConnection("127.0.0.1", lo.port, timeout=TIMEOUT_S)
        for i in range(20):
            family = FAMILIES[i % 3]
            conn.request("POST", PATHS[family], json.dumps(body_of(family, "#echo hi")))
            same(READ[family](conn.getresponse().read()).say, "hi!ababab", "a kept connection")
        conn.close()
        same(len({r["connection"] for r in lo.rows()}), 1, "how many connections")
        with connect(lo) as s:
            for i in range(10):
                send(s, PATHS["chat"], body_of("chat", f"#echo {i}"))
            reader = Reader(s)
            for i in range(10):
                same(read_chat(reader.answer().body).say, f"{i}!ababab", "requests sent ahead")
        with connect(lo) as s:
            data = json.dumps(body_of("chat", "#echo old")).encode()
            s.sendall(b"POST /v1/chat/completions HTTP/1.0\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
                      % len(data) + data)
            got = b""
            while more := s.recv(65536):
                got += more
            same(read_chat(got.split(b"\r\n\r\n", 1)[1]).say, "old!ababab", "HTTP/1.0")
        with connect(lo) as s:
            s.sendall(b"no HTTP at all\r\n\r\n")
            same(Reader(s).answer().status, 400, "garbage")


def rounds():
    """Items of one reply are one round, however a client orders them."""
    script = {"default": [{"calls": [{"tool": "a"}, {"tool": "b"}]}, {"say": "second"},
                          {"say": "third"}]}
    with Loopback(script) as lo:
        r = read_responses(ask(lo, "responses", "x").body)
        user = {"role": "user", "content": [{"type": "input_text", "text": "x"}]}
        outs = [{"type": "function_call_output", "call_id": c[0], "output": "-"} for c in r.calls]
        mixed = [user, r.items[0], outs[0], r.items[1], outs[1]]
        say = lambda items, **more: read_responses(ask(lo, "responses", items, **more).body)
        second = say(mixed)
        same(second.say, "second", "calls that each have their result behind them")
        same(say([*mixed, *second.items, user]).say, "third", "after a whole turn")
        same(say(outs, previous_response_id=r.id).say, "second", "going on from a reply")
        a = ask(lo, "responses", outs, previous_response_id="resp_of_another")
        same((a.status, a.json()["error"]["code"]), (404, "previous_response_not_found"), "no id")


def refusals():
    """What a provider does not take."""
    def refused(lo, family, items, what, **more):
        a = ask(lo, family, items, **more)
        same((a.status, a.end), (400, "whole"), what)
        same(a.json()["error"]["type"], "invalid_request_error", what)
    user = {"role": "user", "content": "x"}
    with Loopback({"refuse_text": "poison", "keys": ["k-1"], "models": ["a", "b"]}) as lo:
        def post(family, items, what, **more):
            refused(lo, family, items, what, headers=[("X-Api-Key", "k-1")], **more)
        for family in FAMILIES:
            post(family, "some poison here", "a text that is refused")
            post(family, "x", "no model", model="")
            a = ask(lo, family, "x", headers=[("Authorization", "Bearer k-2")])
            same(a.status, 401, "a wrong key")
            good = ask(lo, family, "x", headers=[("Authorization", "Bearer k-1")])
            same(READ[family](good.body).say, "done", "a good key, and the script's default")
        post("responses", [user, {"type": "function_call", "call_id": "c", "name": "n",
                                  "arguments": "{}"}], "a call without its result")
        post("responses", [{"type": "function_call_output", "call_id": "c", "output": ""}, user],
             "a result without its call")
        call = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}
        post("chat", [user, {"role": "assistant", "tool_calls": [call]}, user], "no result")
        post("chat", [user, {"role": "tool", "tool_call_id": "c", "content": "x"}], "no call")
        use = {"type": "tool_use", "id": "c", "name": "n", "input": {}}
        post("messages", [user, {"role": "assistant", "content": [use]}, user], "no result")
        post("messages", [user, {"role": "assistant", "content": [use, use]}], "an id twice")
        post("messages", [{"role": "user", "content": [{"type": "text", "text": ""}]}], "empty")
        post("messages", "x", "max_tokens", max_tokens=None)
    with Loopback({"lenient": True}) as lo:
        a = ask(lo, "chat", [user, {"role": "tool", "tool_call_id": "c", "content": "x"}])
        same(read_chat(a.body).say, "done", "lenient")
    with Loopback({"default": [{"expect": {"contains": ["m-1"], "lacks": "secret",
                                           "headers": {"X-Who": "me"}}}]}) as lo:
        who = [("X-Who", "it is me")]
        same(ask(lo, "chat", "x", headers=who).status, 200, "as expected")
        for headers, text in ((who, "a secret"), ((), "x")):
            refused(lo, "chat", text, "not as expected", headers=headers)
        holds("X-Who" in lo.rows()[-1]["refused"], "why, in the record")


def record():
    script = {"echo": [{"say": "hi", "delay_ms": 600000}], "models": ["x"]}
    with Loopback(script) as lo:
        body = '{ "model":"m",\r\n "stream":true, "n":1.50e3,"messages":\n' \
               '[{"role":"user","content":"hi\\n\\u00e9 é"}] }'
        with connect(lo) as s:
            send(s, "/v1/chat/completions?a=1", body.encode(), [("X-A", "1"), ("x-a", "2")])
            Reader(s).answer()
            send(s, "/v1/messages", b"\xffno json\n")
            same(Reader(s).answer().status, 400, "no JSON")
        with connect(lo) as s:
            send(s, "/v1/chat/completions", body_of("chat", "#echo x"))
            lo.wait_rows(lambda r: r.get("conversation") == "echo")
        left = lo.wait_rows(lambda r: r.get("left"))
        rows = lo.rows()
        same(rows[0]["body"], json.loads(body), "a body")
        with open(lo.record, encoding="utf-8") as f:
            holds("1.50e3" in f.readline(), "a number as it was")
        same((rows[0]["path"], rows[0]["method"]), ("/v1/chat/completions?a=1", "POST"), "a path")
        same(rows[0]["headers"]["x-a"], "1, 2", "a header that came twice")
        same((rows[0]["n"], rows[0]["connection"], rows[0]["tls"]), (1, 1, False), "numbers")
        same((rows[0]["conversation"], rows[0]["round"]), ("default", 0), "the round")
        holds(abs(rows[0]["at_ms"] - time.time() * 1000) < TIMEOUT_S * 1000, "the time")
        holds("no json" in rows[1]["body"], "a body that is none")
        same((left[0]["n"], left[0]["after_bytes"]), (3, 0), "who left, and when")


def faults():
    """Each fault, for each family, as a client sees it."""
    table = {
        "s429": {"fault": {"kind": "status", "status": 429, "code": "slow", "message": "wait"},
                 "headers": {"Retry-After": "7"}},
        "s529": {"fault": 529}, "s500": {"fault": {"kind": "status", "status": 500, "html": True}},
        "own": {"fault": {"kind": "status", "status": 503, "body": "not JSON"}},
        "redirect": {"fault": {"kind": "redirect", "location": "/v1/other"}},
        "html": {"fault": "html"}, "json": {"say": "x", "fault": "json"},
        "empty_body": {"say": "x", "fault": "empty_body"},
        "empty_reply": {"say": "x", "fault": "empty_reply"},
        "garbage": {"fault": "garbage"},
        "longer": {"say": "x", "fault": {"kind": "length", "by": 10}},
        "shorter": {"say": "x", "fault": {"kind": "length", "by": -10}},
        "reset": {"say": "x", "fault": {"kind": "reset", "after": 10}},
        "reset_head": {"fault": {"kind": "reset", "after": "head"}},
        "cut": {"say": "x", "fault": {"kind": "cut", "after": 33}},
        "cut_head": {"fault": {"kind": "cut", "after": "head"}},
        "cut_call": {"calls": [{"tool": "t", "arguments": {"a": "b" * 50}}],
                     "fault": {"kind": "cut", "after": "call"}},
        "truncate": {"say": "x", "fault": {"kind": "truncate", "after": 50}},
        "no_end": {"say": "x", "fault": "no_end"},
        "unknown": {"say": "x", "fault": "unknown"},
        "error": {"say": "x", "fault": {"kind": "error_event", "code": "overloaded_error",
                                        "message": "busy now"}},
        "error_first": {"say": "xyz", "fault": {"kind": "error_event", "after": "head"}},
        "nameless": {"calls": [{"tool": "a"}], "fault": "empty_ids"},
        "double": {"calls": [{"tool": "a"}, {"tool": "b"}], "fault": "duplicate_ids"},
        "backwards": {"say": "x", "usage": {"input": 10, "output": 5}, "fault": "usage_backwards"},
        "utf8": {"say": "some words", "fault": "invalid_utf8"},
        "twice": {"say": "at last", "fault": 500, "times": 2},
    }
    with Loopback({name: [round_] for name, round_ in table.items()}) as lo:
        for family in FAMILIES:
            check_faults(lo, family, lambda name: ask(lo, family, f"#{name} x"))
        with Loopback({name: [round_] for name, round_ in table.items()}, tls=True) as secure:
            for name, end in (("cut", "cut"), ("s429", "whole"), ("longer", "cut")):
                try:
                    same(ask(secure, "chat", f"#{name} x").end, end, name)
                except ssl.SSLEOFError:
                    same(end, "cut", name)


def check_faults(lo, family, get):
    a = get("s429")
    same((a.status, a.headers["retry-after"]), (429, "7"), "429")
    error = a.json()["error"]
    same(error["type" if family == "messages" else "code"], "slow", "the code of an error")
    same(error["message"], "wait", "the message of an error")
    a = get("s529")
    same(a.status, 529, "529")
    if family == "messages":
        same((a.json()["type"], a.json()["error"]["type"]), ("error", "overloaded_error"), "529")
    a = get("s500")
    same((a.status, a.headers["content-type"][:9]), (500, "text/html"), "HTML")
    same(get("own").body, b"not JSON", "a body of the script")
    a = get("redirect")
    same((a.status, a.headers["location"]), (302, "/v1/other"), "redirect")
    a = get("html")
    same((a.status, a.headers["content-type"][:9]), (200, "text/html"), "HTML")
    a = get("json")
    same((a.status, a.headers["content-type"]), (200, "application/json"), "JSON")
    holds(a.json()["id"], "JSON")
    a = get("empty_body")
    same((a.status, a.end, a.body), (200, "whole", b""), "empty body")
    r = READ[family](get("empty_reply").body)
    same((r.say, r.calls), (None, []), "empty reply")
    same(get("garbage").end, "garbage", "garbage")
    same(get("longer").end, "cut", "a length too long")
    a = get("shorter")
    holds(a.end == "whole" and a.body and not a.body.endswith(b"\n\n"), "a length too short")
    a = get("reset")
    same((a.status, a.end, len(a.body)), (200, "reset", 10), "reset")
    a = get("reset_head")
    same((a.status, a.end), (None, "reset"), "reset before the head")
    a = get("cut")
    same((a.status, a.end, len(a.body)), (200, "cut", 33), "cut")
    a = get("cut_head")
    same((a.status, a.end, a.body), (None, "cut", b""), "cut before the head")
    a = get("cut_call")
    same(a.end, "cut", "cut in a call")
    holds(b"bbb" in a.body and b"b" * 50 not in a.body, "cut in the midst of arguments")
    a = get("truncate")
    same((a.end, len(a.body)), ("whole", 50), "truncated")
    a = get("no_end")
    same(a.end, "whole", "no end")
    try:
        READ[family](a.body)
    except AssertionError as e:
        holds("end" in str(e), "no end: " + str(e))
    else:
        raise AssertionError("a stream without its end was taken")
    holds(b"novelty" in get("unknown").body, "unknown events")
    a = get("error")
    holds(b"busy now" in a.body and a.end == "whole", "an error in the stream")
    holds(b"xyz" not in get("error_first").body, "an error before anything is said")
    same(READ[family](get("nameless").body).calls[0][0], "", "a call without an id")
    calls = READ[family](get("double").body).calls
    same((len(calls), len({c[0] for c in calls})), (2, 1), "one id for two calls")
    a = get("backwards")
    holds(b"110" in a.body, "a higher usage before the end")
    a = get("utf8")
    try:
        a.body.decode("utf-8")
        raise AssertionError("the bytes are valid UTF-8")
    except UnicodeDecodeError:
        pass
    same([get("twice").status for _ in range(3)], [500, 500, 200], "a fault that passes")


def floods():
    """What does not end, or ends late; and silence."""
    big = 24 << 20
    script = {
        "endless": [{"fault": "endless"}],
        "big": [{"fault": {"kind": "endless", "bytes": big}}],
        "line": [{"fault": {"kind": "endless", "as": "line", "bytes": big}}],
        "comments": [{"fault": {"kind": "endless", "as": "comments"}}],
        "silent": [{"say": "x", "fault": {"kind": "silence", "after": 20}}],
        "mute": [{"say": "x", "fault": {"kind": "silence", "after": "head"}}],
    }
    with Loopback(script) as lo:
        for name in ("endless", "comments"):
            with connect(lo) as s:
                send(s, PATHS["responses"], body_of("responses", f"#{name} x"))
                got = 0
                while got < 8 << 20:
                    got += len(s.recv(1 << 20))
        left = lo.wait_rows(lambda r: r.get("left"), 2)
        holds(all(r["after_bytes"] >= 4 << 20 for r in left), "how much was sent before they left")
        for name in ("big", "line"):
            with connect(lo) as s:
                send(s, PATHS["chat"], body_of("chat", f"#{name} x"))
                got = 0
                while got < big:
                    got += len(s.recv(1 << 20))
        holds(memory_kib(lo.child.pid) < 300 * 1024, "floods are held in memory")
        with connect(lo) as s:
            send(s, PATHS["messages"], body_of("messages", "#silent x"))
            r = Reader(s)
            same(r.line()[9:12], b"200", "the head before the silence")
            while r.line():
                pass
            same(len(r.take(int(r.line(), 16))), 20, "what comes before the silence")
            quiet(s, r.buf.removeprefix(b"\r\n"))
        with connect(lo) as s:
            send(s, PATHS["messages"], body_of("messages", "#mute x"))
            lo.wait_rows(lambda r: r.get("conversation") == "mute")
            quiet(s, b"")
        lo.wait_rows(lambda r: r.get("left"), 4)


def quiet(s, had):
    """Nothing comes, and the connection stays."""
    same(had, b"", "bytes in the silence")
    s.settimeout(0.3)
    try:
        raise AssertionError(f"the silence ends: {s.recv(1000)!r}")
    except socket.timeout:
        pass


def memory_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def pages():
    """Pages of the script's own, and moments in headers."""
    script = {"pages": {
        "/a": {"body": "hello", "headers": {"X-One": "1"}},
        "/moved": {"status": 302, "headers": {"Location": "/a"}},
        "/large": {"body": {"repeat": ["0123456789", 100000]}, "chunk_bytes": 4096},
        "/broken": {"body": "0123456789", "fault": {"kind": "cut", "after": 4}},
        "/late": {"status": 429, "headers": {
            "Retry-After": {"after_s": 9, "as": "http_date"},
            "a": {"after_s": 9, "as": "seconds"}, "b": {"after_s": 9, "as": "rfc3339"},
            "c": {"after_s": 9, "as": "unix"}}},
    }, "headers": {"X-All": "yes"}}
    with Loopback(script) as lo:
        def get(path):
            with connect(lo) as s:
                send(s, path, b"", method="GET")
                return Reader(s).answer()
        a = get("/a?q=1")
        same((a.status, a.body, a.headers["x-one"], a.headers["x-all"]),
             (200, b"hello", "1", "yes"), "a page")
        same((get("/moved").status, get("/moved").headers["location"]), (302, "/a"), "moved")
        same(len(get("/large").body), 1000000, "a large one")
        same((get("/broken").end, get("/broken").body), ("cut", b"0123"), "a broken one")
        h = get("/late").headers
        then = email.utils.parsedate_to_datetime(h["retry-after"]).timestamp()
        holds(0 < then - time.time() <= 9, "an HTTP date")
        same((h["a"], abs(float(h["c"]) - then) <= 1, h["b"][10]), ("9", True, "T"), "moments")


def usage():
    """The command line: help, bad options, bad scripts, and an end when its parent goes."""
    run = lambda *args: subprocess.run([LOOPBACK, *args], stdin=subprocess.DEVNULL,
                                       capture_output=True, text=True, timeout=TIMEOUT_S)
    done = run("--help")
    holds(done.returncode == 0 and "--record FILE" in done.stdout, "help")
    same(run("--nonsense").returncode, 2, "an unknown option")
    same(run("--tls").returncode, 2, "no certificate")
    same(run("--script", "/nonexistent").returncode, 1, "no script")
    same((run().returncode, run().stdout[:8]), (0, '{"port":'), "standard input is closed")
    bad = [
        ('{"a":[{"sya":"x"}]}', "a[0]"), ('{"a":[{"fault":"nonsense"}]}', "fault"),
        ('{"a":{}}', "a: is no list"), ('{"a b":[]}', "name"), ("[]", "object"),
        ('{"a":[{"say":{"repeat":["x",1e9]}}]}', "a[0]"),
        ('{"a":[{"say":{"repeat":["x",1000000000]}}]}', "repeat"),
        ('{"a":[{"calls":[{"arguments":{}}]}]}', "calls[0]"),
        ('{"a":[{"delay_ms":-1}]}', "delay_ms"), ('{"a":[', "byte"),
        ('{"pages":{"/a":{"say":"x"}}}', "pages./a"),
    ]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        for text, wanted in bad:
            path = os.path.join(d, "bad.json")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            done = run("--script", path)
            same(done.returncode, 1, text)
            holds(wanted in done.stderr and "bad.json" in done.stderr, f"{text}: {done.stderr}")


GROUPS = [plain, tls, curl, connection, rounds, refusals, record, faults, floods, pages, usage]


def main():
    names = {g.__name__: g for g in GROUPS}
    wanted = sys.argv[2:] or list(names)
    holds(set(wanted) <= set(names), "no such group")
    for name in wanted:
        names[name]()
        print(f"{name}: held")


main()
