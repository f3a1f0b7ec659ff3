-- Sends the requests of a file over and over: BENCH_REQUESTS names it, a line has the operation, a tab and the body.
-- Prints what wrk measured as one line of JSON, in microseconds.
local requests = {}
local at = 0

local headers = {
  ["Content-Type"] = "application/x-amz-json-1.0",
  ["X-Amz-Date"] = "20261115T000000Z",
  ["Authorization"] = "AWS4-HMAC-SHA256 Credential=bench/20261115/us-east-1/dynamodb/aws4_request, "
    .. "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" .. string.rep("0123456789abcdef", 4),
}

function init(_)
  for line in io.lines(os.getenv("BENCH_REQUESTS")) do
    local operation, body = line:match("^(%w+)\t(.*)$")
    headers["X-Amz-Target"] = "DynamoDB_20120810." .. operation
    requests[#requests + 1] = wrk.format("POST", "/", headers, body)
  end
end

-- Milliseconds that each connection waits before each request: the load of clients that do something else meanwhile.
local pause = tonumber(os.getenv("BENCH_PAUSE_MS") or "0")
if pause > 0 then
  function delay()
    return pause
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency, _)
  io.write(string.format(
    'RESULT {"requests":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"max_us":%d,"failed":%d,"lost":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max,
    summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
