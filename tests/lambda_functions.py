"""Functions for a server to call: one process that takes Lambda's invoke call, and failure records as a destination
would."""

import http.server
import json
import threading
import time

PATIENCE_S = 60
DESTINATION_ARN = "arn:aws:sqs:us-east-1:123456789012:failures"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        status, headers, answer = self.server.owner._answer(self.path, dict(self.headers), json.loads(body))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Functions:
    """functions["name"] = handler(event, context), as one writes it for Lambda. An exception of a handler is answered
    as Lambda does. Every event of a function is kept, in the order in which they came."""

    def __init__(self, port=0):
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), _Handler)
        self._server.owner = self
        self._server.daemon_threads = True
        self._changed = threading.Condition()
        self._handlers = {}
        self.events = {}
        self.failures = []
        self.requests = []
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def __setitem__(self, name, handler):
        with self._changed:
            self._handlers[name] = handler
            self.events.setdefault(name, [])

    def config(self):
        lines = ["[functions]"]
        lines += [f'{name} = "http://127.0.0.1:{self.port}"' for name in self._handlers]
        lines += ["[destinations]", f'"{DESTINATION_ARN}" = "http://127.0.0.1:{self.port}/destination"']
        return "\n".join(lines) + "\n"

    def _answer(self, path, headers, body):
        if path == "/destination":
            with self._changed:
                self.failures.append(body)
                self._changed.notify_all()
            return 200, {}, b""
        name = path.split("/")[3]
        assert path == f"/2015-03-31/functions/{name}/invocations"
        with self._changed:
            self.requests.append((path, headers))
            handler = self._handlers[name]
        try:
            result = handler(body, None)
        except Exception as error:  # noqa: BLE001: whatever a function may raise
            answer = {"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": []}
            return 200, {"X-Amz-Function-Error": "Unhandled"}, json.dumps(answer).encode()
        finally:
            with self._changed:
                self.events[name].append(body)
                self._changed.notify_all()
        return 200, {"X-Amz-Executed-Version": "$LATEST"}, json.dumps(result).encode()

    def records(self, name):
        with self._changed:
            return [record for event in self.events[name] for record in event["Records"]]

    def wait(self, condition, what="what the test waits for"):
        """Until the condition holds; it is looked at after every call."""
        deadline = time.monotonic() + PATIENCE_S
        with self._changed:
            while not condition():
                left = deadline - time.monotonic()
                assert left > 0, f"{what} did not happen in {PATIENCE_S} s"
                self._changed.wait(min(left, 0.1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
