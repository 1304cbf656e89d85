"""Compares what schemathesis found with the findings that are accepted:

    findings.py REPORT.ndjson ACCEPTED.txt

A finding is a code of schemathesis (such as ST202), an operation and a detail: the
answer to a valid request, or the text of a failed check. A line of ACCEPTED.txt is
`CODE | operation | detail | reason`, where operation and detail are regular
expressions. A finding that no line accepts is printed with its request, and the exit
status is 1. The exit status is also 1 if too few operations succeeded, since the calls
then did not reach the code that they should test.
"""

import base64
import json
import re
import sys

# The code of a valid request that was refused.
REJECTED = "ST202"
# How many operations must have succeeded; a run of a minute reaches 70 of 91.
ENOUGH = 60


def main(report, accepted_file):
    accepted = read_accepted(accepted_file)
    new, known = {}, set()
    for finding in findings(report):
        line = next((a for a in accepted if a.accepts(finding)), None)
        if line:
            known.add(line.text)
        else:
            new.setdefault(finding["key"], finding)
    print(f"   {len(known)} accepted findings were found, {len(new)} others")
    for finding in new.values():
        print(f"FAIL: {finding['code']} | {finding['operation']} | {finding['detail']}\n      {finding['request']}")
    reached = succeeded(report)
    print(f"   {reached} operations succeeded")
    if reached < ENOUGH:
        print(f"FAIL: fewer than {ENOUGH}")
    return 1 if new or reached < ENOUGH else 0


class Accepted:
    """One line of the accepted findings."""

    def __init__(self, text):
        self.text = text
        code, operation, detail, reason = (part.strip() for part in text.split(" | "))
        if not reason:
            sys.exit(f"accepted findings: no reason in: {text}")
        self.code, self.operation, self.detail = code, re.compile(operation), re.compile(detail)

    def accepts(self, f):
        return f["code"] == self.code and self.operation.fullmatch(f["operation"]) and self.detail.search(f["detail"])


def read_accepted(path):
    with open(path) as lines:
        return [Accepted(line.strip()) for line in lines if line.strip() and not line.startswith("#")]


def recorders(path):
    """Yields the recorder of each scenario in a report."""
    with open(path) as lines:
        for line in lines:
            yield json.loads(line).get("ScenarioFinished", {}).get("recorder", {})


def findings(path):
    """Yields every failed check of a report."""
    for recorder in recorders(path):
        for case, checks in recorder.get("checks", {}).items():
            for check in checks:
                failure = (check.get("failure_info") or {}).get("failure")
                if failure:
                    yield finding(failure, recorder["interactions"].get(case, {}))


def succeeded(path):
    """Counts the operations with at least one answer 2xx or 3xx."""
    labels = set()
    for recorder in recorders(path):
        for interaction in recorder.get("interactions", {}).values():
            if 200 <= (interaction.get("response") or {}).get("status_code", 0) < 400:
                labels.add(recorder["label"])
    return len(labels)


def finding(failure, interaction):
    request, response = interaction.get("request") or {}, interaction.get("response") or {}
    detail = failure["message"]
    if failure["code"] == REJECTED:
        detail = text(response.get("content"))
    detail = " ".join(detail.split())[:500]
    shown = " ".join([request.get("method", ""), request.get("uri", "")[:500], text(request.get("body"))[:500]])
    operation = failure["operation"]
    return {
        "key": (failure["code"], operation, re.sub(r"[0-9]+|'[^']*'", "", detail)),
        "code": failure["code"], "operation": operation, "detail": detail, "request": shown,
    }


def text(content):
    if not isinstance(content, dict):
        return ""
    return base64.b64decode(content.get("$base64", "")).decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
