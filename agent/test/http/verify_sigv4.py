#!/usr/bin/env python3
"""verify_sigv4.py RECORD N REGION SERVICE: the Nth request of a loopback provider's record (from 0)
carries a good AWS signature. Keys: lines "ID SECRET [TOKEN]" on standard input. Prints the id whose
key it is. A second implementation, from AWS's description, that shares nothing with the daemon's.
"""
import hashlib
import hmac
import json
import re
import sys
import time
import urllib.parse


def fail(why):
    sys.exit("verify_sigv4: " + why)


def sha(data):
    return hashlib.sha256(data).hexdigest()


def canonical_query(query):
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    spelt = [(urllib.parse.quote(k, safe="-_.~"), urllib.parse.quote(v, safe="-_.~")) for k, v in pairs]
    return "&".join(k + "=" + v for k, v in sorted(spelt))


def main():
    record, number, region, service = sys.argv[1:]
    keys = {}
    for line in sys.stdin:
        words = line.split()
        keys[words[0]] = words[1:]
    with open(record, encoding="utf-8") as f:
        row = [json.loads(line) for line in f][int(number)]
    headers = row["headers"]
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/ ]+)/(\d{8})/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request, "
        r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})", headers.get("authorization", ""))
    if not found:
        fail("no signature in " + repr(sorted(headers)))
    key, day, in_region, for_service, names, signature = found.groups()
    if (in_region, for_service) != (region, service):
        fail(f"signed for {in_region}, {for_service}")
    if key not in keys:
        fail("a key that nobody gave: " + key)
    secret, token = keys[key][0], (keys[key] + [None])[1]
    if headers.get("x-amz-security-token") != token:
        fail("another session token")
    date = headers["x-amz-date"]
    if date[:8] != day or abs(time.time() - time.mktime(time.strptime(date + " UTC", "%Y%m%dT%H%M%SZ %Z"))
                              + time.timezone) > 300:
        fail("signed at " + date)
    signed = names.split(";")
    must = {"host", "x-amz-date", "x-amz-content-sha256"} | ({"x-amz-security-token"} if token else set())
    must |= {"content-type"} & set(headers)
    if signed != sorted(signed) or not must <= set(signed):
        fail("signed: " + names)
    if headers["x-amz-content-sha256"] != "UNSIGNED-PAYLOAD":
        fail("the body is signed")
    path, _, query = row["path"].partition("?")
    canonical = "\n".join([
        row["method"], urllib.parse.quote(path, safe="/-_.~"), canonical_query(query),
        "".join(f"{n}:{' '.join(headers[n].split())}\n" for n in signed), names,
        headers["x-amz-content-sha256"]])
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, sha(canonical.encode())])
    step = ("AWS4" + secret).encode()
    for word in scope.split("/"):
        step = hmac.new(step, word.encode(), hashlib.sha256).digest()
    if hmac.new(step, text.encode(), hashlib.sha256).hexdigest() != signature:
        fail("the signature is not that of\n" + canonical)
    print(key)


main()
