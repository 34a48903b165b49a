"""What the tests of the harness share: the program, a strict HTTP client, the families' requests."""
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

LOOPBACK = sys.argv[1]
TIMEOUT_S = 60
FAMILIES = ("responses", "chat", "messages")
PATHS = {"responses": "/v1/responses", "chat": "/v1/chat/completions", "messages": "/v1/messages"}


def same(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def holds(cond, what):
    if not cond:
        raise AssertionError(what)


class Loopback:
    """The program with a script, in a folder of its own."""

    def __init__(self, script, *more, tls=False):
        self.dir = tempfile.mkdtemp(prefix="consort-harness-", dir="/var/tmp")
        self.record = os.path.join(self.dir, "record.jsonl")
        path = os.path.join(self.dir, "script.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(script if isinstance(script, str) else json.dumps(script))
        args = [LOOPBACK, "--script", path, "--record", self.record, *more]
        self.authority = None
        if tls:
            args += ["--tls", *self.certify()]
        self.child = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.child.stdout.readline()
        holds(line, "it does not start")
        self.port = json.loads(line)["port"]

    def certify(self):
        """The openssl program, so that our own certificates are not the only ones tried."""
        at = lambda name: os.path.join(self.dir, name)
        run = lambda *args: subprocess.run(["openssl", *args], check=True, capture_output=True)
        with open(at("names"), "w", encoding="utf-8") as f:
            f.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        run("req", "-x509", *key, "-keyout", at("ca.key"), "-out", at("ca.pem"), "-days", "2",
            "-subj", "/CN=a test authority")
        run("req", *key, "-keyout", at("key.pem"), "-out", at("csr.pem"), "-subj", "/CN=localhost")
        run("x509", "-req", "-in", at("csr.pem"), "-CA", at("ca.pem"), "-CAkey", at("ca.key"),
            "-set_serial", "2", "-days", "2", "-extfile", at("names"), "-out", at("cert.pem"))
        self.authority = at("ca.pem")
        return at("cert.pem"), at("key.pem")

    def url(self, path):
        return f"http{'s' if self.authority else ''}://127.0.0.1:{self.port}{path}"

    def rows(self):
        with open(self.record, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def wait_rows(self, what, count=1):
        until = time.monotonic() + TIMEOUT_S
        while time.monotonic() < until:
            rows = [r for r in self.rows() if what(r)]
            if len(rows) >= count:
                return rows
            select_nothing()
        raise AssertionError("the record does not get its row")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGTERM)
        code = self.child.wait(TIMEOUT_S)
        shutil.rmtree(self.dir)
        if not sys.exc_info()[0]:
            same(code, 0, "exit status")


def select_nothing():
    """Between two looks at a file."""
    select.select([], [], [], 0.005)


# Requests


def body_of(family, texts, stream=True, **more):
    """texts: a user's text, or the items of the conversation as they are."""
    items = [{"role": "user", "content": texts}] if isinstance(texts, str) else texts
    body = {"model": "m-1", "stream": stream}
    body["input" if family == "responses" else "messages"] = items
    if family == "messages":
        body["max_tokens"] = 1000
    if family == "chat" and stream:
        body["stream_options"] = {"include_usage": True}
    body.update(more)
    return body


class Answer:
    def __init__(self):
        self.status, self.headers, self.body, self.end, self.raw = None, {}, b"", None, b""

    def json(self):
        return json.loads(self.body)


def connect(lo):
    s = socket.create_connection(("127.0.0.1", lo.port), TIMEOUT_S)
    if lo.authority:
        s = ssl.create_default_context(cafile=lo.authority).wrap_socket(
            s, server_hostname="127.0.0.1")
    return s


def send(s, path, body, headers=(), method="POST"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(data)}\r\n"
    head += "".join(f"{n}: {v}\r\n" for n, v in headers)
    s.sendall(head.encode() + b"\r\n" + data)


class Reader:
    """A strict reader of one HTTP answer from a socket."""

    def __init__(self, s):
        self.s, self.buf = s, b""

    def more(self):
        data = self.s.recv(65536)
        if not data:
            raise EOFError
        self.buf += data

    def line(self):
        while b"\r\n" not in self.buf:
            self.more()
        line, self.buf = self.buf.split(b"\r\n", 1)
        return line

    def take(self, n):
        while len(self.buf) < n:
            self.more()
        data, self.buf = self.buf[:n], self.buf[n:]
        return data

    def answer(self):
        a = Answer()
        try:
            first = self.line()
            a.raw = first
            holds(first.startswith(b"HTTP/1.1 "), "no HTTP")
            a.status = int(first[9:12])
            while line := self.line():
                name, value = line.decode("latin-1").split(": ", 1)
                a.headers[name.lower()] = value
            self.body(a)
            a.end = "whole"
        except EOFError:
            a.end = "cut"
        except ConnectionResetError:
            a.end = "reset"
        except socket.timeout:
            a.end = "silent"
        except AssertionError:
            a.end = "garbage"
        return a

    def body(self, a):
        if a.headers.get("transfer-encoding") == "chunked":
            while size := int(self.line(), 16):
                while size:
                    data = self.take(min(size, max(1, len(self.buf))))
                    a.body += data
                    size -= len(data)
                same(self.take(2), b"\r\n", "the end of a chunk")
            same(self.take(2), b"\r\n", "the end of the last chunk")
            return
        left = int(a.headers["content-length"])
        while left:
            data = self.take(min(left, max(1, len(self.buf))))
            a.body += data
            left -= len(data)


def ask(lo, family, texts, headers=(), timeout=TIMEOUT_S, **more):
    with connect(lo) as s:
        s.settimeout(timeout)
        send(s, PATHS[family], body_of(family, texts, **more), headers)
        return Reader(s).answer()
