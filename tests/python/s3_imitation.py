"""A small imitation of S3 for tests: one bucket store in memory, with multipart uploads, ranges, pages and faults."""

import collections
import hashlib
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape


class S3Imitation:
    """Use it as a context manager. `objects` is {(bucket, key): bytes}; buckets are those in `buckets`."""

    def __init__(self, *buckets, page=1000):
        self.buckets = set(buckets)
        self.objects = {}
        self.uploads = {}
        self.requests = collections.Counter()
        self.faults = 0  # so many of the next requests are answered with 503
        self.page = page
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body=b"", **headers):
                if isinstance(body, str):
                    body = body.encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def fail(self, status, code):
                self.answer(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>")

            def handle_one(self):
                url = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
                bucket, _, key = urllib.parse.unquote(url.path[1:]).partition("/")
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with outer.lock:
                    outer.serve(self, bucket, key, query, body)

            do_GET = do_PUT = do_POST = do_DELETE = handle_one

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"

    def serve(self, request, bucket, key, query, body):
        kind = request.command + ("" if key else " list") + "".join(
            " " + name for name in ("uploads", "partNumber", "uploadId") if name in query)
        self.requests[kind] += 1
        signed = request.headers.get("Authorization", "")
        if not re.match(r"AWS4-HMAC-SHA256 Credential=key/\d{8}/eu-west-1/s3/aws4_request, SignedHeaders=", signed):
            return request.fail(403, "AccessDenied")
        if request.headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
            return request.fail(400, "XAmzContentSHA256Mismatch")
        if self.faults > 0:
            self.faults -= 1
            return request.fail(503, "SlowDown")
        if bucket not in self.buckets:
            return request.fail(404, "NoSuchBucket")
        if "uploads" in query:
            upload = f"upload-{len(self.uploads)}"
            self.uploads[upload] = {}
            return request.answer(200, f"<R><UploadId>{upload}</UploadId></R>")
        if "partNumber" in query:
            self.uploads[query["uploadId"]][int(query["partNumber"])] = body
            return request.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        if request.command == "POST":
            numbers = [int(n) for n in re.findall(r"<PartNumber>(\d+)</PartNumber>", body.decode())]
            parts = self.uploads.pop(query["uploadId"])
            assert numbers == sorted(parts), "all parts, in order"
            whole = b"".join(parts[n] for n in numbers)
            self.objects[bucket, key] = whole
            return request.answer(200, f"<R><ETag>&quot;{hashlib.md5(whole).hexdigest()}-{len(numbers)}&quot;</ETag></R>")
        if request.command == "DELETE":
            self.uploads.pop(query.get("uploadId"), None)
            return request.answer(204)
        if request.command == "PUT":
            self.objects[bucket, key] = body
            return request.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        if not key:
            return self.list(request, bucket, query)
        if (bucket, key) not in self.objects:
            return request.fail(404, "NoSuchKey")
        content = self.objects[bucket, key]
        first, last = re.match(r"bytes=(\d+)-(\d+)", request.headers["Range"]).groups()
        if int(first) >= len(content):
            return request.fail(416, "InvalidRange")
        return request.answer(206, content[int(first):int(last) + 1])

    def list(self, request, bucket, query):
        after = query.get("continuation-token") or query.get("start-after", "")
        keys = sorted(k for b, k in self.objects if b == bucket and k.startswith(query["prefix"]) and k > after)
        shown = keys[:self.page]
        answer = "".join(
            f"<Contents><Key>{escape(k)}</Key><Size>{len(self.objects[bucket, k])}</Size>"
            f"<ETag>&quot;{hashlib.md5(self.objects[bucket, k]).hexdigest()}&quot;</ETag></Contents>" for k in shown)
        more = len(shown) < len(keys)
        answer += f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        if more:
            answer += f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>"
        request.answer(200, f"<ListBucketResult>{answer}</ListBucketResult>")

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
