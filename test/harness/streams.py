"""Strict readers of the streams of three families: they take nothing but what a provider sends.

Each gives a Reply, or raises AssertionError with what is wrong.
"""
import json

from client import holds, same


def events(data):
    """Server-sent events as (name, data); every block must be whole."""
    text = data.decode("utf-8")
    holds(text.endswith("\n\n"), "the stream does not end with an empty line")
    for block in text[:-2].split("\n\n"):
        name, lines = None, []
        for line in block.split("\n"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                lines.append(value)
            else:
                same(field, "", "a field of an event")
        if lines:
            yield name, "\n".join(lines)


class Reply:
    def __init__(self):
        self.think, self.say, self.refuse = None, None, None
        self.calls, self.usage, self.stop = [], None, None


def read_responses(data):
    r, open_item, items, seq, final = Reply(), None, [], -1, None
    for name, text in events(data):
        e = json.loads(text)
        same(name, e["type"], "the name of an event")
        holds(final is None, "an event behind the last")
        holds(e["sequence_number"] > seq, "sequence numbers do not rise")
        seq = e["sequence_number"]
        kind = name.removeprefix("response.")
        if kind == "created":
            same(seq, 0, "the number of the first event")
            same(e["response"]["status"], "in_progress", "status at the start")
            holds(e["response"]["id"].startswith("resp_"), "the id of a response")
            rid = e["response"]["id"]
        elif kind == "in_progress":
            same(e["response"]["id"], rid, "the id of the response")
        elif kind == "output_item.added":
            holds(open_item is None, "two items open")
            same(e["output_index"], len(items), "the index of an item")
            open_item = {"item": e["item"], "text": "", "done": None}
        elif kind in ("content_part.added", "reasoning_summary_part.added"):
            open_item["part"] = ""
        elif kind in ("output_text.delta", "refusal.delta", "reasoning_summary_text.delta",
                      "function_call_arguments.delta"):
            same(e["item_id"], open_item["item"]["id"], "the item of a delta")
            same(e["output_index"], len(items), "the index of a delta")
            open_item["text"] += e["delta"]
        elif kind in ("output_text.done", "reasoning_summary_text.done"):
            same(e["text"], open_item["text"], "a text when it is done")
        elif kind == "refusal.done":
            same(e["refusal"], open_item["text"], "a refusal when it is done")
        elif kind == "function_call_arguments.done":
            same(e["arguments"], open_item["text"], "arguments when they are done")
        elif kind in ("content_part.done", "reasoning_summary_part.done"):
            same(e["part"].get("text", e["part"].get("refusal")), open_item["text"], "a part")
        elif kind == "output_item.done":
            item = e["item"]
            same(item["id"], open_item["item"]["id"], "the id of an item")
            same(e["output_index"], len(items), "the index of an item")
            read_item(r, item, open_item["text"])
            items.append(item)
            open_item = None
        elif kind in ("completed", "incomplete"):
            final = e["response"]
            same(final["status"], kind, "status at the end")
            same(final["id"], rid, "the id at the end")
            if final["output"]:
                same(final["output"], items, "the output at the end")
        else:
            raise AssertionError(f"unknown event {name}")
    holds(final and open_item is None, "the stream has no end")
    u = final["usage"]
    same(u["total_tokens"], u["input_tokens"] + u["output_tokens"], "total_tokens")
    r.usage = (u["input_tokens"], u["output_tokens"], u["input_tokens_details"]["cached_tokens"])
    r.stop = final["status"]
    r.id = final["id"]
    r.items = items
    return r


def read_item(r, item, streamed):
    if item["type"] == "function_call":
        same(item["arguments"], streamed, "the arguments of an item")
        r.calls.append((item["call_id"], item["name"], item["arguments"]))
    elif item["type"] == "reasoning":
        r.think = "".join(p["text"] for p in item["summary"])
        same(r.think, streamed, "the summary of an item")
    else:
        same((item["type"], item["role"]), ("message", "assistant"), "an item")
        (part,) = item["content"]
        if part["type"] == "refusal":
            r.refuse = part["refusal"]
        else:
            same(part["type"], "output_text", "a part")
            same(part["text"], streamed, "the text of an item")
            r.say = part["text"]


def read_chat(data):
    r, ids, done, calls = Reply(), set(), False, {}
    for name, text in events(data):
        holds(not done, "an event behind [DONE]")
        holds(name is None, "an event has a name")
        if text == "[DONE]":
            done = True
            continue
        e = json.loads(text)
        same(e["object"], "chat.completion.chunk", "object")
        ids.add(e["id"])
        if e.get("usage"):
            u = e["usage"]
            same(u["total_tokens"], u["prompt_tokens"] + u["completion_tokens"], "total_tokens")
            cached = (u.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            r.usage = (u["prompt_tokens"], u["completion_tokens"], cached)
        if not e["choices"]:
            holds(r.usage, "a chunk without choices and usage")
            continue
        (choice,) = e["choices"]
        same(choice["index"], 0, "the index of a choice")
        holds(r.stop is None, "a delta behind the reason to stop")
        delta = choice["delta"]
        for field, key in (("say", "content"), ("think", "reasoning_content"),
                           ("refuse", "refusal")):
            if delta.get(key):
                setattr(r, field, (getattr(r, field) or "") + delta[key])
        for call in delta.get("tool_calls", ()):
            if call["index"] not in calls:
                same(call["index"], len(calls), "the index of a call")
                same(call["type"], "function", "the type of a call")
                calls[call["index"]] = [call["id"], call["function"]["name"], ""]
            calls[call["index"]][2] += call["function"].get("arguments", "")
        r.stop = choice.get("finish_reason") or r.stop
    holds(done and r.stop, "the stream has no end")
    same(len(ids), 1, "how many ids")
    r.id = ids.pop()
    r.calls = [tuple(c) for c in calls.values()]
    return r


def read_messages(data):
    r, blocks, block, state, u = Reply(), 0, None, "new", {}
    for name, text in events(data):
        e = json.loads(text)
        same(name, e["type"], "the name of an event")
        holds(state != "over", "an event behind the last")
        if name == "message_start":
            same(state, "new", "the state before message_start")
            state, m = "open", e["message"]
            same((m["type"], m["role"], m["content"]), ("message", "assistant", []), "a message")
            r.id = m["id"]
            u.update(m["usage"])
        elif name == "content_block_start":
            holds(state == "open" and block is None, "a block in a block")
            same(e["index"], blocks, "the index of a block")
            block = {**e["content_block"], "all": "", "signed": ""}
        elif name == "content_block_delta":
            same(e["index"], blocks, "the index of a delta")
            d = e["delta"]
            field = {"text_delta": "text", "thinking_delta": "thinking",
                     "input_json_delta": "partial_json"}.get(d["type"])
            if field:
                block["all"] += d[field]
            else:
                same(d["type"], "signature_delta", "the type of a delta")
                block["signed"] += d["signature"]
        elif name == "content_block_stop":
            same(e["index"], blocks, "the index of a block's end")
            read_block(r, block)
            blocks, block = blocks + 1, None
        elif name == "message_delta":
            holds(state == "open" and block is None, "message_delta too early")
            r.stop = e["delta"]["stop_reason"]
            u.update(e["usage"])
            state = "stopped"
        elif name == "message_stop":
            same(state, "stopped", "the state before message_stop")
            state = "over"
        else:
            same(name, "ping", "an event")
    same(state, "over", "the state at the end")
    cached = u.get("cache_read_input_tokens") or 0
    made = u.get("cache_creation_input_tokens") or 0
    r.usage = (u["input_tokens"] + cached + made, u["output_tokens"], cached)
    return r


def read_block(r, block):
    if block["type"] == "tool_use":
        same(block["input"], {}, "the input at a block's start")
        r.calls.append((block["id"], block["name"], block["all"]))
    elif block["type"] == "thinking":
        holds(block["signed"], "thinking is not signed")
        r.think = block["all"]
    else:
        same(block["type"], "text", "the type of a block")
        r.say = block["all"]


READ = {"responses": read_responses, "chat": read_chat, "messages": read_messages}
